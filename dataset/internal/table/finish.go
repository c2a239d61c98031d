package table

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/idset"
)

// finish sorts what was gathered and writes the rest of the file.
func (im *importer) finish(ctx context.Context, files []string) (*Report, error) {
	if im.finder.Total == 0 && im.table.n == 0 {
		im.finder.Add(input.FileError(files[0], "no events", "at least one row"))
	}
	if err := im.finder.Err(); err != nil {
		return nil, err
	}
	r := &Report{Events: im.table.n, Columns: im.columns, Numbers: !im.sources.words && !im.targets.words,
		Sorted: im.table.sorted, Labels: im.table.labelled, TimeFormat: im.format, Recipe: &im.recipe}
	im.begunRecipe()
	if err := im.writeFeatured(r); err != nil {
		return nil, err
	}
	if err := im.table.sort(ctx); err != nil {
		return nil, err
	}
	r.Nodes = im.sources.len()
	named := 0 // nodes named as sources
	if im.Bipartite {
		named = im.sources.len()
		r.Nodes += im.targets.len()
		r.Warnings = append(r.Warnings, im.targets.lookalikes()...)
	}
	r.Warnings = append(r.Warnings, im.sources.lookalikes()...)
	im.writeEvents(ctx, r, named)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := im.writeNodes(ctx, r); err != nil {
		return nil, err
	}
	im.writeNames(r.Nodes)
	if err := im.out.Recipe(&im.recipe); err != nil {
		return nil, err
	}
	err := im.out.About(native.About{Name: im.Name, TimeFormat: im.format, Sampling: data.Native,
		From: baseNames(files)})
	if err != nil {
		return nil, err
	}
	return r, im.out.Commit(native.Counts{Events: r.Events, Nodes: r.Nodes, Sources: named, Bipartite: r.Bipartite})
}

// baseNames are file names without their directories, so that the same data gives the same bytes wherever it lies.
func baseNames(files []string) []string {
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	return names
}

// begunRecipe is how the tables were read, before anything is fitted.
func (im *importer) begunRecipe() {
	c := im.columns
	im.recipe = data.Recipe{Source: c.Source, Target: c.Target, Time: c.Time, Label: c.Label, NoHeader: im.NoHeader}
	im.recipe.Edge.Plain, im.recipe.Edge.PlainWidth = c.EdgeFeatures, max(0, im.width)
	if len(im.Features)+len(im.NodeFeatures) > 0 {
		until := data.TrainEnd(slices.Sorted(slices.Values(im.table.times())))
		im.recipe.FittedUntil = &until
	}
}

// writeFeatured writes the features of all events, in the order in which they came.
func (im *importer) writeFeatured(r *Report) error {
	if len(im.encoders.readers) > 0 {
		if err := im.encodeEvents(r); err != nil {
			return err
		}
	}
	r.EdgeFeatures = im.recipe.Edge.Width()
	im.sealFeatures(r.EdgeFeatures)
	return nil
}

// sealFeatures ends the edge features; if none of them is anything but 0, their room is used again.
func (im *importer) sealFeatures(width int) {
	rows := im.table.n + 1
	if im.features == nil {
		im.out.Section(native.EdgeFeatures, rows, 0, 0)
		return
	}
	im.features.Shape(rows, width)
	im.features.Seal()
	if !im.nonzero {
		im.features.Drop()
	}
}

// writeEvents writes the columns in the order of time, all at once, unless the context ends.
func (im *importer) writeEvents(ctx context.Context, r *Report, named int) {
	n := im.table.n
	begin := func(kind uint32, size int) *native.Section { return im.out.Section(kind, n, 1, int64(size)*int64(n)) }
	src, dst, time := begin(native.Source, 4), begin(native.Destination, 4), begin(native.Time, 8)
	var label, edge *native.Section
	if im.table.labelled {
		label = begin(native.Label, 4)
	}
	if !im.table.sorted {
		edge = begin(native.Edge, 4)
	}
	var shift event.Node // of destinations
	if im.Bipartite {
		shift = event.Node(named)
	}
	var isSource, isTarget idset.Set
	seen := 0
	var b columnBuffer
	flush := func() {
		src.Write(native.Bytes(b.src))
		dst.Write(native.Bytes(b.dst))
		time.Write(native.Bytes(b.time))
		if label != nil {
			label.Write(native.Bytes(b.label))
		}
		if edge != nil {
			edge.Write(native.Bytes(b.edge))
		}
		b.reset()
	}
	im.table.walk(func(e event.Event) bool {
		e.Dst += shift
		if isSource.Add(e.Src) {
			r.Sources++
		}
		if isTarget.Add(e.Dst) {
			r.Targets++
		}
		if seen == 0 {
			r.First = e.Time
		}
		seen++
		r.Last = e.Time
		if b.add(e); len(b.src) == cap(b.src) {
			flush()
			return ctx.Err() == nil
		}
		return true
	})
	flush()
	r.Bipartite = r.Sources+r.Targets == r.Nodes
}

// columnBuffer holds a few events by column.
type columnBuffer struct {
	src, dst, edge []int32
	time           []float64
	label          []float32
}

func (b *columnBuffer) add(e event.Event) {
	if b.src == nil {
		const n = 8 << 10
		b.src, b.dst, b.edge = make([]int32, 0, n), make([]int32, 0, n), make([]int32, 0, n)
		b.time, b.label = make([]float64, 0, n), make([]float32, 0, n)
	}
	b.src = append(b.src, e.Src)
	b.dst = append(b.dst, e.Dst)
	b.edge = append(b.edge, e.Edge)
	b.time = append(b.time, e.Time)
	b.label = append(b.label, e.Label)
}

func (b *columnBuffer) reset() {
	b.src, b.dst, b.edge, b.time, b.label = b.src[:0], b.dst[:0], b.edge[:0], b.time[:0], b.label[:0]
}

// writeNames writes the dictionary, first of the sources, then of the destinations where those are named apart.
func (im *importer) writeNames(nodes int) {
	dicts := []*dict{im.sources}
	if im.Bipartite {
		dicts = append(dicts, im.targets)
	}
	words := im.sources.words || im.targets.words
	if !words {
		s := im.out.Section(native.NameNumbers, nodes, 1, int64(8*nodes))
		for _, d := range dicts {
			s.Write(native.Bytes(d.nums))
		}
		return
	}
	text := im.out.Section(native.NameText, 0, 1, -1)
	for _, d := range dicts {
		for i := range d.len() {
			text.Write(d.name(i))
		}
	}
	text.Seal()
	text.Shape(int(text.Size()), 1)
	ends := im.out.Section(native.NameEnds, nodes, 1, int64(8*nodes))
	end := int64(0)
	for _, d := range dicts {
		for i := range d.len() {
			end += int64(len(d.name(i)))
			ends.Write(native.Bytes([]int64{end}))
		}
	}
}
