package table

import (
	"context"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/idset"
)

// writeNodes writes the node features, from the node file if there is one.
func (im *importer) writeNodes(ctx context.Context, r *Report) error {
	if im.NodeFile == "" {
		im.out.Section(native.NodeFeatures, r.Nodes+1, 0, 0)
		return nil
	}
	n := &nodeFile{importer: im, report: r}
	o := im.Options
	o.Label = "" // of events
	n.reader = &tableReader{path: im.NodeFile, o: o, choose: n.choose, merge: n.merge, nodes: true}
	in, err := openTable(ctx, im.NodeFile)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := im.noted(n.reader.read(ctx, in)); err != nil {
		return err
	}
	if im.finder.Total == 0 && n.count == 0 {
		im.finder.Add(input.FileError(im.NodeFile, "no rows about nodes that have events",
			"names of nodes as in the events"))
	}
	if err := im.finder.Err(); err != nil {
		return err
	}
	if r.NodesWithout = r.Nodes - n.count; r.NodesWithout > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: no row for %d of %d nodes: their features are zero",
			im.NodeFile, r.NodesWithout, r.Nodes))
	}
	if r.UnknownNodeIDs > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d rows about nodes without events: ignored",
			im.NodeFile, r.UnknownNodeIDs))
	}
	im.recipe.NodeID, im.recipe.NodeSide = n.columns.Source, n.columns.Target
	if len(n.encoders.readers) > 0 {
		return n.encode()
	}
	im.recipe.Node.Plain, im.recipe.Node.PlainWidth = n.columns.EdgeFeatures, n.width
	return n.section.ReadBack()
}

// nodeFile writes rows of features to their place as they come.
type nodeFile struct {
	*importer
	report  *Report
	reader  *tableReader
	section *native.Section // nil until the first row
	width   int
	seen    idset.Set
	count   int // nodes with features
	sides   bool

	columns  Columns
	encoders encoders
	rows     []event.Node // of what is to be encoded: the node of each row, 0 for those that are nobody's
}

// choose takes the column of names, that of sides in a bipartite set, and all others as features.
func (n *nodeFile) choose(names []string) (Columns, error) {
	c := chooser{n.NodeFile, names}
	var cols Columns
	var err error
	if cols.Source, err = c.pick(n.NodeID, nodeNames, "node's name", "--node-id"); err != nil {
		return cols, err
	}
	if cols.Target = c.guess(roleNames); n.NodeSide != "" {
		if cols.Target, err = c.pick(n.NodeSide, nil, "side", "--node-side"); err != nil {
			return cols, err
		}
	}
	if !n.Bipartite {
		cols.Target = ""
	}
	n.sides = cols.Target != ""
	defer func() { n.columns = cols }()
	if len(n.NodeFeatures) > 0 {
		list, err := c.encoded(n.NodeFeatures, []string{cols.Source, cols.Target}, "--node-features")
		if err != nil {
			return cols, err
		}
		for _, a := range list {
			cols.Features = append(cols.Features, a.name)
		}
		return cols, n.encoders.begin(n.NodeFile, list, n.Missing)
	}
	for _, name := range names {
		if name != cols.Source && name != cols.Target && name != "" {
			cols.EdgeFeatures = append(cols.EdgeFeatures, name)
		}
	}
	if len(cols.EdgeFeatures) == 0 {
		return cols, &input.Error{File: n.NodeFile, Row: -1, Found: "the columns " + c.list(),
			Want: "columns of features beside " + cols.Source}
	}
	return cols, nil
}

func (n *nodeFile) merge(b *importBlock) error {
	n.encoders.read(n.NodeFile, b)
	for i := range b.src {
		p := b.place(n.NodeFile, i)
		id, found := n.whose().node(p, b, i)
		n.rows = append(n.rows, id)
		switch {
		case !found:
		case id == 0:
			n.report.UnknownNodeIDs++
		case !n.seen.Add(id):
			p.Bad("", "node "+b.src[i].String()+" again", "every node once")
		case len(n.encoders.readers) > 0:
			n.count++
		case n.finder.Total == 0:
			if err := n.put(id, b.width, b.feat[i*b.width:(i+1)*b.width]); err != nil {
				return err
			}
		}
	}
	n.reader.take(&n.finder, b)
	return nil
}

// whose finds the nodes that rows of a table are about.
func (n *nodeFile) whose() nodeFinder {
	return nodeFinder{n.Bipartite, n.sides, func(k key, source bool) event.Node {
		if source {
			return n.sources.find(k)
		}
		id := n.targets.find(k)
		if id > 0 && n.Bipartite {
			id += event.Node(n.sources.len())
		}
		return id
	}}
}

// nodeFinder tells which node a row is about, by its name and in a bipartite set by its side.
type nodeFinder struct {
	bipartite, sides bool
	find             func(k key, source bool) event.Node // 0: nobody is called so
}

// node is the node that row i of a block is about, 0 if it has no events. Found is false if the row does not say
// clearly.
func (f nodeFinder) node(p place, b *importBlock, i int) (id event.Node, found bool) {
	if !f.bipartite {
		return f.find(b.src[i], true), true
	}
	source, target := f.find(b.src[i], true), f.find(b.src[i], false)
	if f.sides {
		side := b.dst[i].String()
		switch {
		case slices.Contains(sourceNames, plain(side)):
			return source, true
		case slices.Contains(targetNames, plain(side)):
			return target, true
		}
		p.Bad("", "side "+input.Quote(side), "source or destination")
		return 0, false
	}
	if source > 0 && target > 0 {
		p.Bad("", "node "+b.src[i].String()+" which is both a source and a destination",
			"a column side that says which")
		return 0, false
	}
	return max(source, target), true
}

// encode fits the encodings on the nodes that occur in the training part, and writes the features of all.
func (n *nodeFile) encode() error {
	train := n.trainNodes()
	columns, warnings := n.encoders.fit(func(row int) bool { return train.Has(n.rows[row]) }, n.Categories)
	n.report.Warnings = append(n.report.Warnings, warnings...)
	n.recipe.Node.Columns = columns
	width := n.recipe.Node.Width()
	n.report.NodeFeatures = width
	n.section = n.out.Section(native.NodeFeatures, n.report.Nodes+1, width, int64(n.report.Nodes+1)*int64(width)*4)
	var feat []float32
	for i, id := range n.rows {
		if id == 0 {
			continue
		}
		feat = n.encoders.encode(columns, i, feat[:0])
		if _, err := n.section.WriteAt(native.Bytes(feat), int64(id)*int64(width)*4); err != nil {
			return err
		}
	}
	return n.section.ReadBack()
}

// trainNodes are those that occur in the training part. Events must be sorted.
func (n *nodeFile) trainNodes() *idset.Set {
	var train idset.Set
	var shift event.Node // of destinations
	if n.Bipartite {
		shift = event.Node(n.sources.len())
	}
	n.table.walk(func(e event.Event) bool {
		if e.Time > *n.recipe.FittedUntil {
			return false
		}
		train.Add(e.Src)
		train.Add(e.Dst + shift)
		return true
	})
	return &train
}

// put writes the features of one node.
func (n *nodeFile) put(id event.Node, width int, feat []float32) error {
	if n.section == nil {
		n.width = width
		n.report.NodeFeatures = width
		n.section = n.out.Section(native.NodeFeatures, n.report.Nodes+1, width, int64(n.report.Nodes+1)*int64(width)*4)
	}
	if width != n.width {
		return input.FileError(n.NodeFile, fmt.Sprintf("%d features for node %d", width, id),
			fmt.Sprintf("%d, as in the rows before", n.width))
	}
	n.count++
	_, err := n.section.WriteAt(native.Bytes(feat), int64(id)*int64(width)*4)
	return err
}
