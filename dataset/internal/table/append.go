package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// AppendOptions say how to read tables of later events. What is not said is as in the first import.
type AppendOptions struct {
	Options
	Again bool // append also what the data have already, to the last row
}

// AppendReport is what was appended.
type AppendReport struct {
	Out         string     `json:"file"`
	Added       int        `json:"added"`  // rows
	Events      int        `json:"events"` // that there are now
	NewNodes    int        `json:"new_nodes"`
	Nodes       int        `json:"nodes"`
	First, Last event.Time `json:"-"` // of the rows appended
	TimeFormat  string     `json:"time_format"`
	TimeUnit    string     `json:"time_unit,omitempty"` // of Unix times
	Late        int        `json:"late"`                // rows before the last event that was there
	Known       int        `json:"known"`               // rows whose source, destination and time were there
	Columns     Columns    `json:"columns"`
	Warnings    []string   `json:"warnings,omitempty"`
}

// Append reads tables of events and adds them to a native file; see dataset.Append.
func Append(ctx context.Context, path string, files []string, o AppendOptions) (*AppendReport, error) {
	if len(files) == 0 {
		return nil, errors.New("append: no files")
	}
	unlock, err := atomicfile.Lock(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	set, err := native.Open(path)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if err := cmp.Or(set.Log.Verify(), set.Names.Verify()); err != nil { // nothing damaged is written anew
		return nil, err
	}
	if s := o.Schema; s != nil {
		if set.Recipe == nil || !s.Columns.Edge.Same(&set.Recipe.Edge) {
			return nil, input.FileError(path, "columns that are encoded in another way than the schema says",
				"the schema of this data set")
		}
		o.follow(s)
		o.Features = nil
	}
	w, err := native.Create(path)
	if err != nil {
		return nil, err
	}
	im := newAppender(set, o.Options, w)
	report := &AppendReport{Out: path, TimeFormat: set.TimeFormat, TimeUnit: set.Clock().Unit}
	im.ready = func() error {
		if im.compare(report); o.Again || report.Known < report.Added {
			return nil
		}
		found := fmt.Sprintf("only events that %s has already, all %d of them", path, report.Added)
		return input.FileError(files[0], found, "new ones, or the option Again to have them twice")
	}
	if err := im.run(ctx, files); err != nil {
		w.Discard()
		return nil, err
	}
	report.Columns, report.Warnings = im.report.Columns, im.report.Warnings
	return report, nil
}

// newAppender is an importer that goes on where a set ends.
func newAppender(set *data.Set, o Options, w *native.Writer) *importer {
	im := newImporter(o, w)
	im.old, im.like = set, "as in the data"
	im.Name, im.report.TimeFormat = set.Name, set.TimeFormat
	if set.Recipe != nil {
		im.recipe = *set.Recipe
	}
	r := &im.recipe
	im.Source, im.Target, im.Time = cmp.Or(im.Source, r.Source), cmp.Or(im.Target, r.Target), cmp.Or(im.Time, r.Time)
	im.Kind, im.KindOfFile = cmp.Or(im.Kind, r.Kind), r.KindOfFile
	im.ID = cmp.Or(im.ID, r.ID)
	im.Value = r.Value
	im.ids.begin(set)
	im.labels.follow(set)
	im.values.begin(set)
	im.kinds.add(set.Kinds...)
	im.Label, im.TimeLayout = cmp.Or(im.Label, r.Label), cmp.Or(im.TimeLayout, r.Layout)
	im.TimeUnit = set.TimeUnit
	im.NodeID, im.NodeSide = cmp.Or(im.NodeID, r.NodeID), cmp.Or(im.NodeSide, r.NodeSide)
	im.NodeTime = cmp.Or(im.NodeTime, r.NodeTime)
	im.NoHeader = im.NoHeader || r.NoHeader
	if im.EdgeFeatures == nil {
		im.EdgeFeatures = r.Edge.Plain
	}
	switch {
	case len(im.EdgeFeatures) == 0:
		im.width = 0
	case set.Recipe == nil: // nobody wrote down which they were
		im.width = set.Edge.Cols
	default:
		im.width = r.Edge.PlainWidth
	}
	im.encoders = encoders{fitted: true, columns: r.Edge.Columns, width: set.Edge.Cols}
	if im.Schema != nil {
		im.encoders.encoded = im.Schema.Encoded
	}
	im.features.width, im.features.rows = set.Edge.Cols, set.Edge.Rows
	if set.Edge.Data != nil {
		im.features.rows = 0
		im.features.add(set.Edge.Data)
	}
	im.numbered(set.Names, im.lastOld())
	im.table.begin(set)
	return im
}

// compare says how the new events lie to the old ones. Blocks must not be sorted yet.
func (im *importer) compare(r *AppendReport) {
	old := im.old.Log.All()
	r.Events, r.Added = im.table.n, im.table.n-im.table.old
	r.Nodes, r.NewNodes = int(im.last), int(im.last-im.lastOld())
	times := im.table.times()[im.table.old:]
	r.First, r.Last = slices.Min(times), slices.Max(times)
	there := map[event.Event]bool{}
	lo, _ := slices.BinarySearch(old.Time, r.First)
	for i := lo; i < old.Len() && old.Time[i] <= r.Last; i++ {
		there[event.Event{Src: old.Src[i], Dst: old.Dst[i], Time: old.Time[i]}] = true
	}
	for _, b := range im.table.blocks {
		for i := range b.time {
			if b.first == 0 || old.Len() == 0 { // the old ones themselves, or none
				break
			}
			if b.time[i] < old.Time[old.Len()-1] {
				r.Late++
			}
			if there[event.Event{Src: b.src[i], Dst: b.dst[i], Time: b.time[i]}] {
				r.Known++
			}
		}
	}
	if n := len(im.old.Kinds); len(im.kinds.list) > n {
		im.warn("%d kinds of events are new: %s", len(im.kinds.list)-n, data.ListKinds(im.kinds.list[n:]))
	}
	if n := len(im.old.Classes); n > 0 && len(im.labels.names) > n {
		im.warn("%d classes of labels are new: %s", len(im.labels.names)-n, data.ListKinds(im.labels.names[n:]))
	}
	if r.Known > 0 {
		im.warn("%d of %d rows have source, destination and time of an event that was there: it is there twice now",
			r.Known, r.Added)
	}
	if im.features.width > 0 && im.width == 0 && len(im.recipe.Edge.Columns) == 0 && im.old.Edge.Data != nil {
		im.warn("events have %d features, those of the new rows are 0: the option EdgeFeatures names their columns",
			im.features.width)
	}
	if n := im.last - im.lastOld(); im.NodeFile == "" && n > 0 && im.old.Node.Data != nil {
		im.warn("features of new nodes are 0, of %d: the option NodeFile names a table of them", n)
	}
}

// lastOld is the last node of the old set, 0 where there is none.
func (im *importer) lastOld() event.Node {
	if im.old == nil {
		return 0
	}
	return event.Node(max(0, im.old.NumNodes()-1))
}

// warn notes what a user should know.
func (im *importer) warn(format string, args ...any) {
	im.report.Warnings = append(im.report.Warnings, fmt.Sprintf(format, args...))
}
