package table

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/idset"
	"github.com/dygmamba/dygmamba/protocol"
)

// finish sorts what was gathered and writes the rest of the file.
func (im *importer) finish(ctx context.Context, files []string) error {
	r, about := im.report, native.About{Name: im.Name, Sampling: protocol.Native}
	recipe, named := &im.recipe, im.names.Sources() // nodes named as sources
	if im.old == nil {
		if im.Schema == nil {
			im.begunRecipe()
		}
		if im.Bipartite && im.names == nil {
			named = im.sources.known
			im.targets.shift = event.Node(named)
		}
	} else {
		about.Sampling, about.From = im.old.Sampling, im.old.From
		recipe = im.old.Recipe
		if err := im.ready(); err != nil {
			return err
		}
	}
	if err := im.labels.finish(im); err != nil {
		return err
	}
	r.Classes, about.Classes = im.labels.names, im.labels.names
	r.Events, r.Nodes, r.Sorted, r.Labels = im.table.n, int(im.last), im.table.sorted, im.table.labelled
	r.Recipe, r.Kinds, about.Kinds = recipe, im.kinds.list, im.kinds.list
	if err := im.fitEvents(); err != nil {
		return err
	}
	r.EdgeFeatures = im.features.width
	im.features.end(int(im.table.next))
	im.out.Values(im.values.done(int(im.table.next)))
	im.similarNames()
	for _, step := range []func(context.Context) error{im.table.sort, im.writeEvents, im.writeNodes, im.writeLabels} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	im.writeNames()
	im.out.IDs(im.ids.done(int(im.table.next) - 1))
	if r.TimeUnit = im.TimeUnit; im.old == nil && r.TimeFormat == input.TimeNumber && r.TimeUnit == "" {
		r.TimeUnit = data.UnixUnit(r.First, r.Last)
	}
	about.TimeFormat, about.TimeUnit, about.From = r.TimeFormat, r.TimeUnit, slices.Clip(about.From)
	for _, f := range files { // without their directories: the same data gives the same bytes wherever it lies
		about.From = append(about.From, filepath.Base(f))
	}
	if err := cmp.Or(im.out.Recipe(recipe), im.out.About(about), ctx.Err()); err != nil {
		return err
	}
	im.table, im.sources, im.targets = nil, nil, nil // room to sort events by node
	return im.out.Commit(ctx, native.Counts{Events: r.Events, Nodes: r.Nodes, Sources: named, Bipartite: r.Bipartite})
}

// similarNames warns of names that differ by ".0" alone, in a new set.
func (im *importer) similarNames() {
	if im.old != nil {
		return
	}
	im.report.Numbers = !im.sources.names.words && !im.targets.names.words
	if im.Bipartite {
		im.report.Warnings = append(im.report.Warnings, im.targets.names.similarNames()...)
	}
	im.report.Warnings = append(im.report.Warnings, im.sources.names.similarNames()...)
}

// begunRecipe is how the tables were read, before anything is fitted.
func (im *importer) begunRecipe() {
	c := im.report.Columns
	im.recipe = data.Recipe{Source: c.Source, Target: c.Target, Time: c.Time, Label: c.Label, Kind: c.Kind, ID: c.ID,
		Value:      c.Value,
		KindOfFile: im.KindOfFile, NoHeader: im.NoHeader, Layout: im.TimeLayout}
	im.recipe.Edge.Plain, im.recipe.Edge.PlainWidth = c.EdgeFeatures, max(0, im.width)
	if len(im.Features)+len(im.NodeFeatures) > 0 || im.Value != "" {
		until := data.TrainEnd(slices.Sorted(slices.Values(im.table.times())))
		im.recipe.FittedUntil = &until
	}
}

// fitEvents fits the encodings of events on the training part and writes the features of all, where any are to be
// fitted.
func (im *importer) fitEvents() error {
	if len(im.encoders.readers) == 0 {
		return nil
	}
	times, until, plain := im.table.times(), *im.recipe.FittedUntil, max(0, im.width)
	im.recipe.Edge.Columns = im.fit(&im.encoders, func(row int) bool { return times[row] <= until })
	im.features.width = im.recipe.Edge.Width()
	var row []float32
	for i := range times {
		row = im.encoders.encode(i, append(row[:0], im.plain[i*plain:(i+1)*plain]...))
		if err := im.features.add(row); err != nil {
			return err
		}
	}
	return nil
}

// writeEvents writes the columns in the order of time, all at once, unless the context ends.
func (im *importer) writeEvents(ctx context.Context) error {
	r, n := im.report, im.table.n
	begin := func(kind uint32, size int) *native.Section { return im.out.Section(kind, n, 1, int64(size)*int64(n)) }
	src, dst, time := begin(native.Source, 4), begin(native.Destination, 4), begin(native.Time, 8)
	var label, edge, kind *native.Section
	if im.table.labelled {
		label = begin(native.Label, 4)
	}
	if !im.table.sorted {
		edge = begin(native.Edge, 4)
	}
	if im.table.kinds {
		kind = begin(native.Kind, 2)
	}
	var isSource, isTarget idset.Set
	var targets []event.Node // of a run
	var edges []event.Edge
	r.First = math.Inf(1)
	im.table.walk(func(b *eventBlock, lo, hi int) bool {
		targets = targets[:0]
		for k := lo; k < hi; k++ {
			to := b.dst[k] + im.targets.shift
			targets = append(targets, to)
			if isSource.Add(b.src[k]) {
				r.Sources++
			}
			if isTarget.Add(to) {
				r.Targets++
			}
		}
		r.First, r.Last = min(r.First, b.time[lo]), b.time[hi-1]
		src.Write(native.Bytes(b.src[lo:hi]))
		dst.Write(native.Bytes(targets))
		time.Write(native.Bytes(b.time[lo:hi]))
		if label != nil {
			writeRun(label, b.label, lo, hi)
		}
		if kind != nil {
			writeRun(kind, b.kind, lo, hi)
		}
		if edge != nil {
			edges = b.edges(edges[:0], lo, hi)
			edge.Write(native.Bytes(edges))
		}
		return ctx.Err() == nil
	})
	r.Bipartite = true
	for id := event.Node(1); id <= im.last && r.Bipartite; id++ {
		r.Bipartite = !(isSource.Has(id) && isTarget.Has(id))
	}
	return ctx.Err()
}

// writeRun writes values lo to hi−1 of a column; nil: all are 0.
func writeRun[T float32 | event.Kind](s *native.Section, col []T, lo, hi int) {
	if col == nil {
		col, lo, hi = make([]T, hi-lo), 0, hi-lo
	}
	s.Write(native.Bytes(col[lo:hi]))
}
