package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
)

// AppendOptions say how to read tables of later events. What is not said is as in the first import.
type AppendOptions struct {
	Options
	Again bool // append also what the data have already, to the last row
}

// AppendReport is what was appended.
type AppendReport struct {
	Out             string
	Added, Events   int // rows appended, events that there are now
	NewNodes, Nodes int
	First, Last     event.Time // of the rows appended
	TimeFormat      string
	Late            int // rows before the last event that was there
	Known           int // rows whose source, destination and time were there
	Columns         Columns
	Warnings        []string
}

// Append reads tables of events and adds them to a native file, which is replaced as a whole when all is well. Ids,
// names and features of what is there stay; nodes that are new are numbered on, and features of new rows are encoded
// as those of the first import were. Rows may be in any order, and earlier than what is there. If anything is wrong
// with the input, the error is a *Problems and the file stays as it is.
func Append(ctx context.Context, path string, files []string, o AppendOptions) (*AppendReport, error) {
	if len(files) == 0 {
		return nil, errors.New("append: no files")
	}
	unlock, err := native.Lock(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	set, err := native.Open(path)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	ap := newAppender(set, o)
	for _, file := range files {
		if err := ap.file(ctx, file); err != nil {
			return nil, err
		}
	}
	if ap.finder.Total == 0 && len(ap.events) == 0 {
		ap.finder.Add(input.FileError(files[0], "no events", "at least one row"))
	}
	if err := ap.nodes(ctx); err != nil {
		return nil, err
	}
	if err := ap.finder.Err(); err != nil {
		return nil, err
	}
	report := ap.report(path)
	if ap.Again || report.Known < report.Added {
		return report, ap.write(ctx, path, files)
	}
	found := fmt.Sprintf("only events that %s has already, all %d of them", path, report.Added)
	return nil, input.FileError(files[0], found, "new ones, or --again to have them twice")
}

// appender gathers what is new.
type appender struct {
	AppendOptions
	set     *data.Set
	recipe  data.Recipe
	finder  input.Finder
	reader  *tableReader
	columns Columns

	sources, targets *side // the same, unless bipartite
	last             event.Node
	events           []event.Event // in the order in which they came
	width            int           // of edge features
	feat             []float32     // [events, width]
	nodeFeat         map[event.Node][]float32
	warnings         []string
}

func newAppender(set *data.Set, o AppendOptions) *appender {
	if o.MaxProblems <= 0 {
		o.MaxProblems = 20
	}
	ap := &appender{AppendOptions: o, set: set, finder: input.Finder{Most: o.MaxProblems}, width: set.Edge.Cols,
		last: event.Node(max(0, set.NumNodes()-1)), nodeFeat: map[event.Node][]float32{}}
	if set.Recipe != nil {
		ap.recipe = *set.Recipe
	}
	ap.Bipartite = set.Names.Sources() > 0
	ap.sources = newSide(set, func(id event.Node) bool { return !ap.Bipartite || set.Names.IsSource(id) })
	ap.targets = ap.sources
	if ap.Bipartite {
		ap.targets = newSide(set, func(id event.Node) bool { return !set.Names.IsSource(id) })
	}
	r := &ap.recipe
	for _, c := range []struct{ to, from *string }{
		{&ap.Source, &r.Source}, {&ap.Target, &r.Target}, {&ap.Time, &r.Time}, {&ap.Label, &r.Label},
		{&ap.NodeID, &r.NodeID}, {&ap.NodeSide, &r.NodeSide},
	} {
		if *c.to == "" {
			*c.to = *c.from
		}
	}
	ap.NoHeader = ap.NoHeader || r.NoHeader
	if ap.EdgeFeatures == nil {
		ap.EdgeFeatures = r.Edge.Plain
	}
	return ap
}

// file reads one table. Problems of its rows are collected; the error is for what makes reading on pointless.
func (ap *appender) file(ctx context.Context, path string) error {
	in, err := openTable(ctx, path)
	if err != nil {
		return err
	}
	defer in.Close()
	ap.reader = &tableReader{path: path, o: ap.Options, choose: ap.choose, merge: ap.merge}
	err = ap.reader.read(ctx, in)
	var bad *input.Error
	if errors.As(err, &bad) {
		ap.finder.Add(bad)
		return ap.finder.Err()
	}
	return err
}

// choose finds the columns of the first import.
func (ap *appender) choose(names []string) (Columns, error) {
	c := chooser{ap.reader.path, names}
	cols, err := c.events(ap.Options)
	if err != nil {
		return cols, err
	}
	if ap.set.Recipe != nil && ap.Label == "" {
		cols.Label = "" // a column that looks like one was none then
	}
	for _, column := range ap.recipe.Edge.Columns {
		name, err := c.pick(column.Name, nil, "features", "--features")
		if err != nil {
			return cols, err
		}
		cols.Features = append(cols.Features, name)
	}
	cols.Ignored = c.rest(cols)
	if ap.columns.Source == "" {
		ap.columns = cols
	}
	return cols, nil
}

// merge numbers the names of a block and keeps its events.
func (ap *appender) merge(b *importBlock) error {
	plain := ap.plainWidth()
	for i := range b.src {
		p := b.place(ap.reader.path, i)
		if b.format != ap.set.TimeFormat {
			p.Bad("", "a "+b.format+" as time", "a "+ap.set.TimeFormat+", as in the data")
		}
		if b.width != plain {
			p.Bad("", fmt.Sprintf("%d features of the event", b.width), fmt.Sprintf("%d, as in the data", plain))
			continue
		}
		e := event.Event{Src: ap.number(p, ap.sources, b.src[i]), Dst: ap.number(p, ap.targets, b.dst[i]),
			Time:  b.time[i],
			Label: b.label[i]}
		ap.events = append(ap.events, e)
		ap.encode(p, b.feat[i*plain:(i+1)*plain], b.cells[i*len(ap.recipe.Edge.Columns):])
	}
	ap.reader.take(&ap.finder, b)
	if ap.Progress != nil {
		ap.Progress(Progress{File: ap.reader.path, Rows: len(ap.events), Bytes: ap.reader.in.Delivered(),
			Size: ap.reader.size()})
	}
	if most := math.MaxInt32 - 1; max(ap.set.Log.Len(), ap.set.Edge.Rows)+len(ap.events) > most ||
		int(ap.last)+2*len(b.src) > most {
		return input.FileError(ap.reader.path, "too many events or nodes", fmt.Sprintf("at most %d of each", most))
	}
	return nil
}

// plainWidth is how many features of a row are taken as they are: all, where no recipe tells.
func (ap *appender) plainWidth() int {
	switch {
	case len(ap.EdgeFeatures) == 0:
		return 0
	case ap.set.Recipe == nil:
		return ap.width
	}
	return ap.recipe.Edge.PlainWidth
}

// encode keeps the features of a row.
func (ap *appender) encode(p place, plain []float32, cells [][]byte) {
	at := len(ap.feat)
	ap.feat = append(append(ap.feat, plain...), make([]float32, ap.width-len(plain))...)
	at += len(plain)
	for j, c := range ap.recipe.Edge.Columns {
		if !c.Encode(cells[j], ap.feat[at:at+c.Width()]) {
			p.Bad(c.Name, input.Quote(cells[j]), c.Want())
		}
		at += c.Width()
	}
}

// report says what is about to be written.
func (ap *appender) report(path string) *AppendReport {
	r := &AppendReport{Out: path, Added: len(ap.events), Events: ap.set.Log.Len() + len(ap.events), Columns: ap.columns,
		Nodes: int(ap.last), NewNodes: int(ap.last) - max(0, ap.set.NumNodes()-1), TimeFormat: ap.set.TimeFormat}
	byTime := func(a, b event.Event) int { return cmpTime(a.Time, b.Time) }
	r.First, r.Last = slices.MinFunc(ap.events, byTime).Time, slices.MaxFunc(ap.events, byTime).Time
	all := ap.set.Log.All()
	there := map[event.Event]bool{}
	if n := all.Len(); n > 0 {
		lo, _ := slices.BinarySearch(all.Time, r.First)
		for i := lo; i < n && all.Time[i] <= r.Last; i++ {
			there[event.Event{Src: all.Src[i], Dst: all.Dst[i], Time: all.Time[i]}] = true
		}
		for _, e := range ap.events {
			if e.Time < all.Time[n-1] {
				r.Late++
			}
			if there[event.Event{Src: e.Src, Dst: e.Dst, Time: e.Time}] {
				r.Known++
			}
		}
	}
	r.Warnings = ap.warnings
	if r.Known > 0 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%d of %d rows have source, destination and time of an event that was there: "+
				"it is there twice now", r.Known, r.Added))
	}
	if ap.width > 0 && ap.plainWidth() == 0 && len(ap.recipe.Edge.Columns) == 0 && ap.set.Edge.Data != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("events have %d features, those of the new rows are 0: "+
			"--edge-features names their columns", ap.width))
	}
	return r
}

func cmpTime(a, b event.Time) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
