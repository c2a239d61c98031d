package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/idset"
)

// nodes reads features of nodes that are new. Those of others stay as they are.
func (ap *appender) nodes(ctx context.Context) error {
	before := event.Node(max(0, ap.set.NumNodes()-1))
	if ap.NodeFile == "" {
		if ap.last > before && ap.set.Node.Data != nil {
			ap.warnings = append(ap.warnings,
				fmt.Sprintf("features of new nodes are 0, of %d: --nodes names a table of them", ap.last-before))
		}
		return nil
	}
	if ap.set.Node.Cols == 0 {
		return input.FileError(ap.NodeFile, "features of nodes", "none, as the data have none")
	}
	n := &newNodes{appender: ap, before: before}
	in, err := openTable(ctx, ap.NodeFile)
	if err != nil {
		return err
	}
	defer in.Close()
	o := ap.Options
	o.Label = "" // of events
	n.reader = &tableReader{path: ap.NodeFile, o: o, choose: n.choose, merge: n.merge, nodes: true}
	err = n.reader.read(ctx, in)
	var bad *input.Error
	if errors.As(err, &bad) {
		ap.finder.Add(bad)
		return ap.finder.Err()
	}
	ap.warnings = append(ap.warnings, n.warnings()...)
	return err
}

// newNodes takes rows about nodes that came with the new events.
type newNodes struct {
	*appender
	before         event.Node // the last node that was there
	reader         *tableReader
	sides          bool
	seen           idset.Set
	known, unknown int // rows about nodes that were there, and that have no events
}

// choose finds the columns of the first import.
func (n *newNodes) choose(names []string) (cols Columns, err error) {
	c := chooser{n.NodeFile, names}
	if cols.Source, err = c.pick(n.NodeID, nodeNames, "node's name", "--node-id"); err != nil {
		return cols, err
	}
	if n.Bipartite {
		if cols.Target = c.guess(roleNames); n.NodeSide != "" {
			if cols.Target, err = c.pick(n.NodeSide, nil, "side", "--node-side"); err != nil {
				return cols, err
			}
		}
	}
	n.sides = cols.Target != ""
	cols.EdgeFeatures = n.recipe.Node.Plain
	for _, column := range n.recipe.Node.Columns {
		cols.Features = append(cols.Features, column.Name)
	}
	if len(cols.EdgeFeatures)+len(cols.Features) == 0 { // nobody wrote down which they were
		cols.EdgeFeatures = c.rest(cols)
	}
	for _, name := range append(cols.EdgeFeatures, cols.Features...) {
		if _, err := c.pick(name, nil, "features", "--nodes"); err != nil {
			return cols, err
		}
	}
	return cols, nil
}

func (n *newNodes) merge(b *importBlock) error {
	plain := n.set.Node.Cols
	if len(n.recipe.Node.Columns) > 0 {
		plain = 0
	}
	whose := nodeFinder{n.Bipartite, n.sides, n.find}
	for i := range b.src {
		p := b.place(n.NodeFile, i)
		id, found := whose.node(p, b, i)
		switch {
		case !found:
		case id == 0:
			n.unknown++
		case id <= n.before:
			n.known++
		case !n.seen.Add(id):
			p.Bad("", "node "+b.src[i].String()+" again", "every node once")
		case b.width != plain:
			p.Bad("", fmt.Sprintf("%d features of the node", b.width), fmt.Sprintf("%d, as in the data", plain))
		default:
			n.put(p, id, b.feat[i*plain:(i+1)*plain], b.cells[i*len(n.recipe.Node.Columns):])
		}
	}
	n.reader.take(&n.finder, b)
	return nil
}

// find is the node of a name, 0 if nobody is called so.
func (n *newNodes) find(k key, source bool) event.Node {
	s := n.targets
	if source {
		s = n.sources
	}
	if s.names == nil {
		if k.text != nil || k.num < 1 || k.num > int64(n.last) {
			return 0
		}
		return event.Node(k.num)
	}
	local := s.names.find(k)
	if local == 0 {
		return 0
	}
	return s.ids[local-1]
}

// put keeps the features of a node.
func (n *newNodes) put(p place, id event.Node, plain []float32, cells [][]byte) {
	feat := make([]float32, n.set.Node.Cols)
	at := copy(feat, plain)
	for j, c := range n.recipe.Node.Columns {
		if !c.Encode(cells[j], feat[at:at+c.Width()]) {
			p.Bad(c.Name, input.Quote(cells[j]), c.Want())
		}
		at += c.Width()
	}
	n.nodeFeat[id] = feat
}

func (n *newNodes) warnings() []string {
	var list []string
	if without := int(n.last-n.before) - len(n.nodeFeat); without > 0 {
		list = append(list, fmt.Sprintf("%s: no row for %d of %d new nodes: their features are zero", n.NodeFile,
			without, n.last-n.before))
	}
	if n.known > 0 {
		list = append(list, fmt.Sprintf("%s: %d rows about nodes that were there: their features stay", n.NodeFile,
			n.known))
	}
	if n.unknown > 0 {
		list = append(list, fmt.Sprintf("%s: %d rows about nodes without events: ignored", n.NodeFile, n.unknown))
	}
	return list
}
