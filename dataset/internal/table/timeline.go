package table

import (
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// timelineRows are rows of a table of nodes with times, as they come.
type timelineRows struct {
	node  []event.Node
	time  []event.Time
	feat  []float32
	cells []int // of what is to be fitted: the number of each row among all that were read
	read  int   // rows so far, of unknown nodes too
}

// timed says whether rows of the table of nodes hold from a time on.
func (n *nodeFile) timed() bool { return n.NodeTime != "" }

// otherForm refuses rows with times where the old ones have none, and the other way round.
func (n *nodeFile) otherForm() error {
	if n.timed() {
		return input.FileError(n.NodeFile, "features of nodes with times in the column "+n.NodeTime,
			"features that always hold, as in the data")
	}
	return input.FileError(n.NodeFile, "features of nodes without times",
		"a column of times, named by the option NodeTime, as in the data")
}

// nodeTime checks that the column of times is there, and means nothing else.
func (c chooser) nodeTime(cols Columns) error {
	if cols.Time == cols.Source || cols.Time == cols.Target {
		return &input.Error{File: c.file, Row: -1, Column: cols.Time, Found: "the node's name or side",
			Want: "a column of its own for the times"}
	}
	return c.all([]string{cols.Time}, "the option NodeTime")
}

// mergeTimed takes a block of rows with times.
func (n *nodeFile) mergeTimed(b *importBlock) error {
	plain := n.width
	if len(n.columns.Features) > 0 {
		plain = 0
	} else if plain < 0 && len(b.spot) > 0 {
		plain, n.width = b.width, b.width
	}
	if len(b.spot) > 0 {
		p := b.place(n.NodeFile, 0)
		if b.width != plain {
			p.Bad("", fmt.Sprintf("%d node features", b.width), fmt.Sprintf("%d, %s", plain, n.like))
		}
		if b.format != n.report.TimeFormat {
			p.Bad(n.columns.Time, "a "+b.format+" as time", "a "+n.report.TimeFormat+", as in the events")
		}
	}
	feat := n.encoders.read(n.NodeFile, b, plain)
	t := &n.timeline
	first := t.read
	t.read += len(b.spot)
	nodes := make([]event.Node, len(b.spot))
	for i := range b.spot {
		id, found := n.node(b.place(n.NodeFile, i), b, i)
		if nodes[i] = id; found && id == 0 {
			n.report.UnknownNodeIDs++
		}
	}
	n.reader.take(&n.finder, b)
	if n.finder.Total > 0 {
		return nil // nothing will be written
	}
	for i, id := range nodes {
		if id == 0 {
			continue
		}
		n.count++
		t.node, t.time = append(t.node, id), append(t.time, b.time[i])
		if len(n.encoders.readers) > 0 {
			t.cells = append(t.cells, first+i)
		} else {
			t.feat = append(t.feat, feat[i*n.width:(i+1)*n.width]...)
		}
	}
	return nil
}

// endTimed fits what is to be fitted, on the rows of the training part, and says what a user should know.
func (n *nodeFile) endTimed() error {
	t, r := &n.timeline, n.report
	if r.UnknownNodeIDs > 0 {
		n.warn("%s: %d rows about nodes without events: ignored", n.NodeFile, r.UnknownNodeIDs)
	}
	if err := n.sameUnit(n.NodeFile, t.time); err != nil {
		return err
	}
	if n.old != nil || n.Schema != nil {
		return nil
	}
	n.recipe.NodeID, n.recipe.NodeSide, n.recipe.NodeTime = n.columns.Source, n.columns.Target, n.columns.Time
	if len(n.encoders.readers) == 0 {
		n.recipe.Node.Plain, n.recipe.Node.PlainWidth = n.columns.EdgeFeatures, n.width
		return nil
	}
	train := make([]bool, t.read)
	for i, row := range t.cells {
		train[row] = t.time[i] <= *n.recipe.FittedUntil
	}
	n.recipe.Node.Columns = n.fit(&n.encoders, func(row int) bool { return train[row] })
	n.width = n.recipe.Node.Width()
	for _, row := range t.cells {
		t.feat = n.encoders.encode(row, t.feat)
	}
	return nil
}

// sameUnit refuses times that are Unix times of another unit than those of the events.
func (im *importer) sameUnit(file string, times []event.Time) error {
	if im.report.TimeFormat != input.TimeNumber || len(times) == 0 {
		return nil
	}
	events := im.TimeUnit
	if events == "" && im.old == nil {
		events = data.UnixUnit(im.report.First, im.report.Last)
	}
	if own := data.UnixUnit(slices.Min(times), slices.Max(times)); events != "" && own != "" && own != events {
		return input.FileError(file, "times that look like Unix times in "+own,
			events+", as the times of the events")
	}
	return nil
}

// writeTimeline writes the rows of the old set and those that were read.
func (n *nodeFile) writeTimeline() {
	var old *data.Timeline
	if n.old != nil {
		old = n.old.Timeline
	}
	t := &n.timeline
	if old == nil && !(n.timed() && n.NodeFile != "") {
		return
	}
	if old.Len() > 0 {
		t.node, t.time = slices.Concat(old.Node, t.node), slices.Concat(old.Time, t.time)
		t.feat = slices.Concat(old.Features.Data, t.feat)
	}
	n.report.NodeRows = len(t.node)
	n.out.Timeline(data.NewTimeline(t.node, t.time, t.feat, n.width))
}

// timelineSheet is the rows of features of nodes that change over time, in the order of time.
func timelineSheet(s *data.Set) *sheet {
	r, line := recipeOf(s), s.Timeline
	t := &sheet{rows: line.Len(), options: Options{NodeID: r.NodeID, NodeTime: r.NodeTime},
		columns: timelineColumns(s)}
	if s.Names.Sources() > 0 {
		t.options.NodeSide = r.NodeSide
	}
	for j, title := range timelineEncoding(s).Plain {
		t.columns = append(t.columns, Float32Column(title, func(row int) float32 { return line.Features.Row(row)[j] }))
	}
	return t
}

// timelineColumns are names, sides and times.
func timelineColumns(s *data.Set) []Column {
	line := s.Timeline
	return append(nodeColumns(s, line.Node), timeColumn(s, recipeOf(s).NodeTime, line.Len(),
		func(row int) event.Time { return line.Time[row] }))
}

// timelineEncoding says how the table of a timelineSheet is read again: as numbers.
func timelineEncoding(s *data.Set) data.Encoding {
	f := s.Timeline.Features
	if f.Data == nil { // no rows
		f.Data = []float32{}
	}
	titles := (&sheet{columns: timelineColumns(s)}).titles(f, recipeOf(s).Node)
	return data.Encoding{Plain: titles, PlainWidth: f.Cols}
}
