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

// writeNodes writes the node features: those of the old set, and those of the node file about nodes that are new.
func (im *importer) writeNodes(ctx context.Context) error {
	n := &nodeFile{importer: im, width: -1}
	if im.old != nil {
		n.width = im.old.Node.Cols
		n.encoders = encoders{fitted: true, columns: im.recipe.Node.Columns, width: n.width}
		if im.old.Node.Data != nil {
			if err := n.put(0, im.old.Node.Data); err != nil {
				return err
			}
		}
	}
	if im.Schema != nil && im.NodeFile != "" {
		e := &im.recipe.Node
		n.width = e.Width()
		n.encoders = encoders{fitted: true, columns: e.Columns, width: n.width, encoded: im.Schema.Encoded}
	}
	if im.NodeFile != "" {
		if err := n.read(ctx); err != nil {
			return err
		}
	}
	im.report.NodeFeatures = max(0, n.width)
	n.writeTimeline()
	if n.section == nil {
		im.out.Section(native.NodeFeatures, im.report.Nodes+1, max(0, n.width), 0)
		return nil
	}
	return n.section.ReadBack()
}

// nodeFile writes rows of features to their place as they come.
type nodeFile struct {
	*importer
	reader  *tableReader
	section *native.Section // nil until the first row
	width   int             // of all features; −1 until the first row
	seen    idset.Set
	count   int // new nodes with features
	known   int // rows about nodes that were there

	columns  Columns
	encoders encoders
	rows     []event.Node // of what is to be fitted: the node of each row, 0 for those that are nobody's

	timeline timelineRows // where rows have times
}

func (n *nodeFile) read(ctx context.Context) error {
	if n.old != nil && n.old.Node.Cols == 0 {
		return input.FileError(n.NodeFile, "features of nodes", "none, as the data have none")
	}
	if n.old != nil && n.timed() != (n.old.Timeline != nil) {
		return n.otherForm()
	}
	in, err := openTable(ctx, n.NodeFile, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	o := n.Options
	o.Label = "" // of events
	n.reader = &tableReader{path: n.NodeFile, o: o, choose: n.choose, merge: n.merge, nodes: true}
	if n.timed() {
		n.reader.merge, n.reader.layout = n.mergeTimed, input.Layout(n.TimeLayout)
	}
	if err := n.noted(n.reader.read(ctx, in)); err != nil {
		return err
	}
	if n.old == nil && n.finder.Total == 0 && n.count == 0 {
		n.finder.Add(input.FileError(n.NodeFile, "no rows about nodes that have events",
			"names of nodes as in the events"))
	}
	if err := n.finder.Err(); err != nil {
		return err
	}
	if n.timed() {
		return n.endTimed()
	}
	n.warnings()
	if n.old != nil || n.Schema != nil {
		return nil
	}
	n.recipe.NodeID, n.recipe.NodeSide = n.columns.Source, n.columns.Target
	if len(n.encoders.readers) > 0 {
		return n.encode()
	}
	n.recipe.Node.Plain, n.recipe.Node.PlainWidth = n.columns.EdgeFeatures, n.width
	return nil
}

// warnings say which nodes and rows did not find each other.
func (n *nodeFile) warnings() {
	r, all, kind := n.report, int(n.last-n.lastOld()), "nodes"
	if n.old != nil {
		kind = "new nodes"
	}
	if r.NodesWithout = all - n.count; r.NodesWithout > 0 {
		n.warn("%s: no row for %d of %d %s: their features are zero", n.NodeFile, r.NodesWithout, all, kind)
	}
	if n.known > 0 {
		n.warn("%s: %d rows about nodes that were there: their features stay", n.NodeFile, n.known)
	}
	if r.UnknownNodeIDs > 0 {
		n.warn("%s: %d rows about nodes without events: ignored", n.NodeFile, r.UnknownNodeIDs)
	}
}

// choose takes the column of names, that of sides in a bipartite set, and as features those of the old set, or those
// that are asked for, or all others.
func (n *nodeFile) choose(names []string) (cols Columns, err error) {
	c := chooser{n.NodeFile, names}
	if cols.Source, err = c.pick(role{n.NodeID, nodeNames, "node's name", "the option NodeID"}); err != nil {
		return cols, err
	}
	if cols.Target = c.guess(roleNames); n.NodeSide != "" {
		cols.Target = n.NodeSide
		if err := c.all([]string{n.NodeSide}, "the option NodeSide"); err != nil {
			return cols, err
		}
	}
	if !n.Bipartite {
		cols.Target = ""
	}
	defer func() { n.columns = cols }()
	if cols.Time = n.NodeTime; n.timed() {
		if err := c.nodeTime(cols); err != nil {
			return cols, err
		}
	}
	cols.Features, err = n.encoders.choose(c, n.NodeFeatures, []string{cols.Source, cols.Target, cols.Time},
		"the option NodeFeatures", n.Missing)
	if err != nil || len(cols.Features) > 0 {
		return cols, err
	}
	cols.EdgeFeatures = n.recipe.Node.Plain
	if err := c.all(cols.EdgeFeatures, "the option NodeFile"); err != nil {
		return cols, err
	}
	if len(cols.EdgeFeatures) == 0 {
		cols.EdgeFeatures = c.rest(cols)
	}
	if len(cols.EdgeFeatures) == 0 {
		return cols, input.FileError(n.NodeFile, "the columns "+c.list(), "columns of features beside "+cols.Source)
	}
	return cols, nil
}

func (n *nodeFile) merge(b *importBlock) error {
	plain := n.width
	if len(n.columns.Features) > 0 {
		plain = 0
	} else if plain < 0 && len(b.spot) > 0 {
		plain, n.width = b.width, b.width
	}
	if len(b.spot) > 0 && b.width != plain {
		b.place(n.NodeFile, 0).Bad("", fmt.Sprintf("%d node features", b.width), fmt.Sprintf("%d, %s", plain, n.like))
	}
	feat := n.encoders.read(n.NodeFile, b, plain)
	nodes := make([]event.Node, len(b.spot)) // with features in the block; 0: none
	for i := range b.spot {
		p := b.place(n.NodeFile, i)
		id, found := n.node(p, b, i)
		switch {
		case !found:
		case id == 0:
			n.report.UnknownNodeIDs++
		case id <= n.lastOld():
			n.known++
		case !n.seen.Add(id):
			p.Bad("", "node "+b.src[i].String()+" again", "every node once")
		default:
			n.count++
			nodes[i] = id
		}
	}
	n.reader.take(&n.finder, b)
	if len(n.encoders.readers) > 0 {
		n.rows = append(n.rows, nodes...)
		return nil
	}
	for i, id := range nodes {
		if id > 0 && n.finder.Total == 0 {
			if err := n.put(id, feat[i*n.width:(i+1)*n.width]); err != nil {
				return err
			}
		}
	}
	return nil
}

// node is the node that row i of a block is about, 0 if it has no events. Found is false if the row does not say
// clearly.
func (n *nodeFile) node(p input.Place, b *importBlock, i int) (id event.Node, found bool) {
	source := n.sources.find(b.src[i], n.last)
	if !n.Bipartite {
		return source, true
	}
	target := n.targets.find(b.src[i], n.last)
	if n.columns.Target != "" {
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
	var train idset.Set
	n.table.walk(func(b *eventBlock, lo, hi int) bool {
		for k := lo; k < hi; k++ {
			if b.time[k] > *n.recipe.FittedUntil {
				return false
			}
			train.Add(b.src[k])
			train.Add(b.dst[k] + n.targets.shift)
		}
		return true
	})
	n.recipe.Node.Columns = n.fit(&n.encoders, func(row int) bool { return train.Has(n.rows[row]) })
	n.width = n.recipe.Node.Width()
	var feat []float32
	for i, id := range n.rows {
		if id == 0 {
			continue
		}
		feat = n.encoders.encode(i, feat[:0])
		if err := n.put(id, feat); err != nil {
			return err
		}
	}
	return nil
}

// put writes the features of nodes from id on.
func (n *nodeFile) put(id event.Node, feat []float32) error {
	if n.section == nil {
		rows := n.report.Nodes + 1
		n.section = n.out.Section(native.NodeFeatures, rows, n.width, 4*int64(rows)*int64(n.width))
	}
	_, err := n.section.WriteAt(native.Bytes(feat), 4*int64(id)*int64(n.width))
	return err
}
