package table

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// LabelFile is a table of labels of nodes: who has which class, and when.
type LabelFile struct {
	Path                    string // "": there is none
	Node, Side, Time, Label string // its columns; "": guessed, Side only where it is needed
}

// classNames are common names of columns of classes.
var classNames = slices.Concat(labelNames, []string{"class", "state", "category"})

// labelRows are the rows of that table, as they come.
type labelRows struct {
	*nodeFile // finds nodes
	cols      data.LabelColumns
	node      []event.Node
	time      []event.Time
	class     []uint16
	names     []string
	known     map[string]uint16
}

// writeLabels writes the labels of nodes: those of the old set, and those of the table.
func (im *importer) writeLabels(ctx context.Context) error {
	var old *data.NodeLabels
	if im.old != nil {
		old = im.old.NodeLabels
	}
	if old == nil && im.NodeLabels.Path == "" {
		return nil
	}
	l := &labelRows{nodeFile: &nodeFile{importer: im}, known: map[string]uint16{}}
	switch {
	case old != nil:
		l.node, l.time, l.class = slices.Clone(old.Node), slices.Clone(old.Time), slices.Clone(old.Class)
		l.add(old.Names...)
	case im.Schema != nil:
		l.add(im.Schema.NodeClasses...)
	}
	if im.NodeLabels.Path != "" {
		if err := l.read(ctx); err != nil {
			return err
		}
	}
	if old == nil && im.Schema == nil {
		l.sort()
	}
	labels := data.NewNodeLabels(l.node, l.time, l.class, l.names)
	im.report.NodeLabels, im.report.NodeClasses = labels.Len(), labels.Names
	return im.out.NodeLabels(labels)
}

func (l *labelRows) add(names ...string) {
	for _, name := range names {
		l.known[name] = uint16(len(l.names))
		l.names = append(l.names, name)
	}
}

// sort numbers classes in the order of their names.
func (l *labelRows) sort() {
	sorted := slices.SortedFunc(slices.Values(l.names), data.CompareClasses)
	number := make([]uint16, len(sorted))
	for i, name := range sorted {
		number[l.known[name]] = uint16(i)
	}
	for i, c := range l.class {
		l.class[i] = number[c]
	}
	l.names = sorted
}

// read reads the table.
func (l *labelRows) read(ctx context.Context) error {
	path := l.NodeLabels.Path
	in, err := openTable(ctx, path, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	before := len(l.node)
	o := l.Options
	o.Label = "" // of events
	l.reader = &tableReader{path: path, o: o, choose: l.choose, merge: l.merge, nodes: true,
		layout: input.Layout(l.TimeLayout)}
	if err := l.noted(l.reader.read(ctx, in)); err != nil {
		return err
	}
	if l.finder.Total == 0 && len(l.node) == before {
		l.finder.Add(input.FileError(path, "no labels", "at least one row"))
	}
	if err := l.finder.Err(); err != nil {
		return err
	}
	if l.old == nil && l.Schema == nil {
		l.recipe.NodeLabels = l.cols
	}
	return l.sameUnit(path, l.time[before:])
}

// choose finds the columns: those that are asked for or were then, or those that are called like it.
func (l *labelRows) choose(names []string) (cols Columns, err error) {
	c, f, r := chooser{l.NodeLabels.Path, names}, l.NodeLabels, l.recipe.NodeLabels
	for _, want := range []struct {
		role
		to *string
	}{
		{role{cmp.Or(f.Node, r.Node), slices.Concat(nodeNames, sourceNames, targetNames), "node's name",
			"the option NodeLabels.Node"}, &cols.Source},
		{role{cmp.Or(f.Time, r.Time), timeNames, "time", "the option NodeLabels.Time"}, &cols.Time},
		{role{cmp.Or(f.Label, r.Label), classNames, "label", "the option NodeLabels.Label"}, &cols.Kind},
	} {
		if *want.to, err = c.pick(want.role); err != nil {
			return cols, err
		}
	}
	if cols.Target = cmp.Or(f.Side, r.Side); cols.Target == "" {
		cols.Target = c.guess(roleNames)
	} else if err := c.all([]string{cols.Target}, "the option NodeLabels.Side"); err != nil {
		return cols, err
	}
	if !l.Bipartite {
		cols.Target = ""
	}
	if cols.Source == cols.Time || cols.Source == cols.Kind || cols.Time == cols.Kind {
		return cols, input.FileError(c.file, fmt.Sprintf("node %s, time %s and label %s", cols.Source, cols.Time,
			cols.Kind), "three different columns")
	}
	l.columns = cols
	l.cols = data.LabelColumns{Node: cols.Source, Side: cols.Target, Time: cols.Time, Label: cols.Kind}
	return cols, nil
}

// merge takes the rows of a block.
func (l *labelRows) merge(b *importBlock) error {
	path := l.NodeLabels.Path
	if len(b.spot) > 0 && b.format != l.report.TimeFormat {
		b.place(path, 0).Bad(l.cols.Time, "a "+b.format+" as time", "a "+l.report.TimeFormat+", as in the events")
	}
	for i := range b.spot {
		p := b.place(path, i)
		id, found := l.nodeFile.node(p, b, i)
		if found && id == 0 {
			p.Bad(l.cols.Node, input.Quote(b.src[i].String()), "a node that has events")
		}
		l.node, l.time = append(l.node, id), append(l.time, b.time[i])
		l.class = append(l.class, l.number(p, bytes.TrimSpace(b.kind[i])))
	}
	l.reader.take(&l.finder, b)
	return nil
}

// number is the number of a class, a new one if it was not seen before. What cannot be a class is complained about.
func (l *labelRows) number(p input.Place, cell []byte) uint16 {
	if of, ok := l.known[string(cell)]; ok {
		return of
	}
	name := string(cell)
	if x, ok := input.ParseFloat(cell); ok && input.Finite(x) { // 1 and 1.0 are one class
		name = data.NumberClass(x)
	}
	if of, ok := l.known[name]; ok {
		l.known[string(cell)] = of
		return of
	}
	switch {
	case len(cell) == 0:
		p.Bad(l.cols.Label, `""`, "the class of the node at that time")
		return 0
	case len(cell) > data.MaxClassName || !utf8.Valid(cell):
		p.Bad(l.cols.Label, input.Quote(cell), fmt.Sprintf("a class of at most %d bytes of valid UTF-8",
			data.MaxClassName))
		return 0
	case len(l.names) >= data.MaxClasses:
		p.Bad(l.cols.Label, fmt.Sprintf("more than %d different classes", data.MaxClasses), "few classes")
		return 0
	}
	l.add(name)
	l.known[string(cell)] = l.known[name]
	return l.known[name]
}

// ExportNodeLabels writes the labels of nodes of a set, for Options.NodeLabels.
func ExportNodeLabels(s *data.Set) (rows int, columns []Column, o LabelFile) {
	l, r := s.NodeLabels, data.LabelColumns{}
	if s.Recipe != nil && !s.Recipe.NoHeader {
		r = s.Recipe.NodeLabels
	}
	o = LabelFile{Node: cmp.Or(r.Node, "node"), Time: cmp.Or(r.Time, "time"), Label: cmp.Or(r.Label, "label")}
	columns = []Column{nameColumn(s, o.Node, func(row int) event.Node { return l.Node[row] })}
	if s.Names.Sources() > 0 {
		o.Side = cmp.Or(r.Side, "side")
		columns = append(columns, TextColumn(o.Side, func(row int) string {
			if s.Names.IsSource(l.Node[row]) {
				return "source"
			}
			return "destination"
		}))
	}
	columns = append(columns, timeColumn(s, o.Time, l.Len(), func(row int) event.Time { return l.Time[row] }),
		TextColumn(o.Label, func(row int) string { return l.Names[l.Class[row]] }))
	return l.Len(), columns, o
}
