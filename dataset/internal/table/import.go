// Package table answers: how do someone's own tables become a data set?
//
// Import reads CSV, JSONL and Parquet, guesses which column means what, numbers names, sorts rows by time and writes
// one native file, in little more memory than the events take. What is wrong with the tables is collected and said at
// once.
package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
	"github.com/dygmamba/dygmamba/event"
)

// Options say how to read someone's tables. The zero value guesses from the content and the column names.
type Options struct {
	Name      string // of the data set; "": the first file's
	Format    string // FormatCSV, FormatJSONL, FormatParquet; "": from the content
	Delimiter string // of CSV: one character; "": comma, tab, semicolon, bar or space, whichever the first line has
	NoHeader  bool   // CSV without a header: columns are called 1, 2, 3, …

	Source, Target, Time string // column names; "": guessed
	Label                string // "": a column called label, if there is one; numbers, or words for classes
	Value                string // column of the number that an event has, to be predicted; it is encoded too
	Kind                 string // column of the kinds of events; "": they have none, or see KindOfFile
	ID                   string // column of the ids of events; "": they have none
	KindOfFile           bool   // the kind of an event is the name of its file, without endings
	TimeUnit             string // of times that are numbers: s, ms, us or ns since 1970; "": recognised by their size
	TimeLayout           string // of dates: such as %d.%m.%Y %H:%M, or 02.01.2006 15:04; "": one of DateForms
	// columns of numbers, taken as they are; JSONL and Parquet columns may be lists of them
	EdgeFeatures []string
	Features     []string // columns to encode, as name or name:kind; AllColumns: every one that is left
	// this many values of a column have a feature each, more are hashed; 0: DefaultCategories
	Categories int
	Missing    []string // words that stand for a missing number or date, beside the usual ones

	Bipartite bool   // sources and destinations are different things: equal names on the two sides are different nodes
	NodeFile  string // a table with a row per node: its name and features
	NodeID    string // its column of names; "": guessed
	NodeSide  string // bipartite: its column that says source or destination; "": a column called side, if there is one
	// NodeTime is its column of times: the table then has any number of rows for a node, each of which holds from its
	// time on. "": it has one row for a node, which always holds.
	NodeTime string
	// NodeFeatures are its columns to encode, as Features are; none: all others are numbers, taken as they are.
	NodeFeatures []string
	NodeLabels   LabelFile // a table of classes of nodes at times of their own

	// Schema says what all columns mean and how they become numbers, as in the set that it came from: nothing is
	// guessed or fitted. Nil: there is none.
	Schema *data.Schema

	MaxProblems int            // of each kind to report; 0 or less: 20
	Progress    func(Progress) // called now and then, on Import's goroutine
}

// Formats of tables.
const (
	FormatCSV     = "csv"
	FormatJSONL   = "jsonl"
	FormatParquet = "parquet"
)

// Progress is how far an import has come.
type Progress struct {
	File        string
	Rows        int   // events so far, of all files
	Bytes, Size int64 // of this file, unpacked; Size 0: unknown
}

// Report is what an import did.
type Report struct {
	Out            string       `json:"file"`
	Events         int          `json:"events"`
	Nodes          int          `json:"nodes"`
	Sources        int          `json:"sources"` // nodes that occur as such
	Targets        int          `json:"destinations"`
	Bipartite      bool         `json:"bipartite"`
	First, Last    event.Time   `json:"-"`
	TimeFormat     string       `json:"time_format"`
	TimeUnit       string       `json:"time_unit,omitempty"` // of Unix times
	Sorted         bool         `json:"sorted"`              // rows were in the order of time
	Labels         bool         `json:"labels"`              // some label is not 0
	Classes        []string     `json:"classes,omitempty"`   // of labels that are words or have gaps
	Kinds          []string     `json:"kinds,omitempty"`
	EdgeFeatures   int          `json:"edge_features"`
	NodeFeatures   int          `json:"node_features"`
	NodeRows       int          `json:"node_rows,omitempty"` // of features of nodes that change over time
	NodeLabels     int          `json:"node_labels,omitempty"`
	NodeClasses    []string     `json:"node_classes,omitempty"` // of these labels
	Columns        Columns      `json:"columns"`                // as they were found in the first file
	Warnings       []string     `json:"warnings,omitempty"`
	Numbers        bool         `json:"-"` // all names are whole numbers
	NodesWithout   int          `json:"-"` // nodes missing in the node file
	UnknownNodeIDs int          `json:"-"` // rows of it about nodes without events
	Recipe         *data.Recipe `json:"-"` // how columns became features
}

// Import reads tables of events and writes them as one native file; see dataset.Import.
//
// Memory: 16 bytes an event, 4 more each where there are labels and where rows are not sorted, the names, and less than
// 64 MB; where columns are encoded, up to 8 bytes an event for each, and 4 for each feature that is taken as it is.
func Import(ctx context.Context, files []string, out string, o Options) (*Report, error) {
	if len(files) == 0 {
		return nil, errors.New("import: no files")
	}
	o.Categories = cmp.Or(o.Categories, DefaultCategories)
	if o.Categories < 2 {
		return nil, fmt.Errorf("import: %d categories, want at least 2", o.Categories)
	}
	if o.Name == "" {
		o.Name = strings.TrimPrefix(strings.SplitN(filepath.Base(files[0]), ".", 2)[0], "ml_")
	}
	var nodes *data.Names
	if o.Schema != nil {
		var err error
		if nodes, err = o.Schema.Nodes.Dictionary(); err != nil {
			return nil, err
		}
		o.follow(o.Schema)
	}
	w, err := native.Create(out)
	if err != nil {
		return nil, err
	}
	im := newImporter(o, w)
	if o.Schema != nil {
		im.follow(o.Schema)
	}
	if nodes != nil {
		im.numbered(nodes, event.Node(nodes.Len()))
	}
	if err := im.run(ctx, files); err != nil {
		w.Discard()
		return nil, err
	}
	im.report.Out = out
	return im.report, nil
}

// importer gathers events from blocks of rows: for a new set, or behind those of an old one.
type importer struct {
	Options
	old     *data.Set // that events are appended to; nil: none
	finder  input.Finder
	out     *native.Writer
	sources *side
	targets *side       // the same, unless bipartite
	last    event.Node  // the largest id in use
	names   *data.Names // of nodes that had their numbers before the first row; nil: none, or these have no names
	given   event.Node  // the largest of these numbers
	table   *eventTable
	kinds   kindNames
	ids     eventIDs
	labels  labelClasses
	values  eventValues
	recipe  data.Recipe
	report  *Report
	like    string       // whom rows must be like: "as in …"
	ready   func() error // of an append: asked before anything is written

	width    int // of edge features taken as they are, −1 until the first row
	features featureRows
	encoders encoders
	plain    []float32 // edge features taken as they are, while others are not fitted yet

	reader *tableReader // of the file being read
}

func newImporter(o Options, w *native.Writer) *importer {
	o.limit()
	im := &importer{Options: o, finder: input.Finder{Most: o.MaxProblems}, out: w, sources: &side{names: newDict()},
		table: &eventTable{sorted: true, next: 1}, report: &Report{}, like: "as in the rows before", width: -1,
		features: featureRows{out: w, rows: 1}} // row 0 is padding
	im.targets = im.sources
	if o.Bipartite {
		im.targets = &side{names: newDict()}
	}
	return im
}

// limit sets how many problems are reported, where nobody says.
func (o *Options) limit() {
	if o.MaxProblems <= 0 {
		o.MaxProblems = 20
	}
}

// run reads all tables and writes the file.
func (im *importer) run(ctx context.Context, files []string) error {
	for _, path := range files {
		in, err := openTable(ctx, path, nil)
		if err != nil {
			return err
		}
		err = im.file(ctx, in)
		in.Close()
		if err != nil {
			return err
		}
	}
	if im.finder.Total == 0 && im.table.n == im.table.old {
		im.finder.Add(input.FileError(files[0], "no events", "at least one row"))
	}
	if err := im.finder.Err(); err != nil {
		return err
	}
	return im.finish(ctx, files)
}

// file reads one table of events. Problems of its rows are collected; the error is for what makes reading on pointless.
func (im *importer) file(ctx context.Context, in *input.File) error {
	im.reader = &tableReader{path: in.Path, o: im.Options, choose: im.choose, resolve: im.resolve, merge: im.merge,
		layout: input.Layout(im.TimeLayout)}
	err := im.noted(im.reader.read(ctx, in))
	im.NoHeader = im.reader.o.NoHeader
	return err
}

// choose finds the columns of a file.
func (im *importer) choose(names []string) (Columns, error) {
	c := chooser{im.reader.path, names}
	cols, err := c.events(im.Options)
	if err != nil {
		return cols, err
	}
	if (im.Schema != nil || im.old != nil && im.old.Recipe != nil) && im.Label == "" {
		cols.Label = "" // a column that looks like one was none then
	}
	if err := c.value(im.Options, &cols); err != nil {
		return cols, err
	}
	im.encoders.value = cols.Value
	others := append([]string{cols.Source, cols.Target, cols.Time, cols.Label, cols.Kind, cols.ID},
		cols.EdgeFeatures...)
	cols.Features, err = im.encoders.choose(c, im.Features, others, "the option Features", im.Missing)
	cols.Ignored = c.rest(cols)
	if im.report.Columns.Source == "" {
		im.report.Columns = cols
	}
	return cols, err
}

// noted adds a complaint about the input to those already found and returns them all; other errors pass.
func (im *importer) noted(err error) error {
	var bad *input.Error
	if errors.As(err, &bad) {
		im.finder.Add(bad)
		return im.finder.Err()
	}
	return err
}

// merge numbers the names of a block and keeps its events.
func (im *importer) merge(b *importBlock) error {
	im.agree(b)
	feat := im.encoders.read(im.reader.path, b, max(0, im.width))
	im.checkIDs(b)
	kinds := im.kinds.read(im, b)
	im.labels.read(im, b)
	im.values.read(im, b)
	im.ids.read(im, b)
	im.reader.take(&im.finder, b)
	if im.finder.Total == 0 { // nothing will be written otherwise
		const most = math.MaxInt32 - 1
		if int(im.table.next)+len(b.spot) > most || int(im.last)+2*len(b.spot) > most {
			return input.FileError(im.reader.path, "too many events or nodes", fmt.Sprintf("at most %d of each", most))
		}
		for i := range b.src {
			im.table.add(event.Event{Src: im.number(im.sources, b.src[i], b.srcLocal[i]),
				Dst: im.number(im.targets, b.dst[i], b.dstLocal[i]), Time: b.time[i], Label: b.label[i],
				Kind: kinds(i)})
		}
		im.publish()
		if len(im.encoders.readers) > 0 {
			im.plain = append(im.plain, feat...)
		} else if err := im.features.add(feat); err != nil {
			return err
		}
	}
	if im.Progress != nil {
		p := Progress{File: im.reader.path, Rows: im.table.n - im.table.old, Bytes: im.reader.in.Delivered()}
		if !im.reader.in.Packed {
			p.Size = im.reader.in.Size
		}
		im.Progress(p)
	}
	return nil
}

// agree checks a block against those before it, or against the old set.
func (im *importer) agree(b *importBlock) {
	if len(b.spot) == 0 {
		return
	}
	p := b.place(im.reader.path, 0)
	if im.report.TimeFormat == "" {
		im.report.TimeFormat = b.format
	} else if format := im.report.TimeFormat; b.format != format {
		p.Bad("", "a "+b.format+" as time", "a "+format+", "+im.like)
	}
	if im.width < 0 {
		im.width, im.features.width = b.width, b.width
	} else if b.width != im.width {
		p.Bad("", fmt.Sprintf("%d edge features", b.width), fmt.Sprintf("%d, %s", im.width, im.like))
	}
}

// featureRows writes a table of features, row by row, but nothing while all of them are 0.
type featureRows struct {
	out         *native.Writer
	section     *native.Section // nil: all were 0
	rows, width int
}

// add takes the features of some rows.
func (f *featureRows) add(feat []float32) (err error) {
	if f.width == 0 || len(feat) == 0 {
		return nil
	}
	if f.section == nil && slices.ContainsFunc(feat, func(x float32) bool { return x != 0 }) {
		f.section = f.out.Section(native.EdgeFeatures, 0, 0, -1)
		zero := make([]byte, 4*f.width)
		for range f.rows {
			f.section.Write(zero)
		}
	}
	f.rows += len(feat) / f.width
	if f.section != nil {
		_, err = f.section.Write(native.Bytes(feat))
	}
	return err
}

// end writes how large the table is; rows that were not added are 0 where all are.
func (f *featureRows) end(rows int) {
	if f.section == nil {
		f.out.Section(native.EdgeFeatures, rows, f.width, 0)
		return
	}
	f.section.Shape(rows, f.width)
	f.section.Seal()
}
