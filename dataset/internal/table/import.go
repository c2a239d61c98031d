// Package table answers: how do someone's own tables become a data set?
//
// Import reads CSV, JSONL and Parquet, guesses which column means what, numbers names, sorts rows by time and writes
// one native file, in little more memory than the events take. What is wrong with the tables is collected and said at
// once.
package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
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
	Label                string // "": a column called label, if there is one
	// columns of numbers, taken as they are; JSONL and Parquet columns may be lists of them
	EdgeFeatures []string
	Features     []string // columns to encode, as name or name:kind; AllColumns: every one that is left
	// so many values of a column have a feature each, more are hashed; 0: DefaultCategories
	Categories int
	Missing    []string // words that stand for a missing number or date, beside the usual ones

	Bipartite bool   // sources and destinations are different things: equal names on the two sides are different nodes
	NodeFile  string // a table with a row per node: its name and features
	NodeID    string // its column of names; "": guessed
	NodeSide  string // bipartite: its column that says source or destination; "": a column called side, if there is one
	// NodeFeatures are its columns to encode, as Features are; none: all others are numbers, taken as they are.
	NodeFeatures []string

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
	Out                          string
	Events, Nodes                int
	Sources, Targets             int     // nodes that occur as such
	Columns                      Columns // as they were found in the first file
	EdgeFeatures, NodeFeatures   int     // widths
	Numbers                      bool    // all names are whole numbers
	Sorted                       bool    // rows were in the order of time
	Labels                       bool    // some label is not 0
	First, Last                  event.Time
	TimeFormat                   string
	Bipartite                    bool
	Warnings                     []string
	NodesWithout, UnknownNodeIDs int          // nodes missing in the node file, rows of it about nodes without events
	Recipe                       *data.Recipe // how columns became features
}

// Import reads tables of events and writes them as one native file. Rows may be in any order; nodes are numbered in the
// order in which their names first appear, and events carry the number of their row as edge id. If anything is wrong
// with the input, the error is a *Problems and nothing is written. With out "" nothing is written in any case: the
// input is only checked.
//
// Memory: 16 bytes an event, 4 more each where there are labels and where rows are not sorted, the names, and less than
// 64 MB; where columns are encoded, up to 8 bytes an event for each, and 4 for each feature that is taken as it is.
func Import(ctx context.Context, files []string, out string, o Options) (*Report, error) {
	if len(files) == 0 {
		return nil, errors.New("import: no files")
	}
	if o.MaxProblems <= 0 {
		o.MaxProblems = 20
	}
	if o.Categories == 0 {
		o.Categories = DefaultCategories
	}
	if o.Categories < 2 {
		return nil, fmt.Errorf("import: %d categories, want at least 2", o.Categories)
	}
	if o.Name == "" {
		o.Name = strings.TrimPrefix(strings.SplitN(filepath.Base(files[0]), ".", 2)[0], "ml_")
	}
	w, err := native.Create(out)
	if err != nil {
		return nil, err
	}
	im := newImporter(o, w)
	report, err := im.all(ctx, files)
	if err != nil {
		w.Discard()
		return nil, err
	}
	report.Out = out
	return report, nil
}

// importer gathers events from blocks of rows.
type importer struct {
	Options
	finder  input.Finder
	out     *native.Writer
	sources *dict
	targets *dict // the same, unless bipartite
	table   *eventTable
	format  string // of times
	columns Columns
	recipe  data.Recipe

	width    int             // of edge features, −1 until the first row
	features *native.Section // nil without
	nonzero  bool            // some edge feature is not 0
	encoders encoders
	plain    []float32 // edge features taken as they are, where others are encoded

	reader *tableReader // of the file being read
}

func newImporter(o Options, w *native.Writer) *importer {
	im := &importer{Options: o, finder: input.Finder{Most: o.MaxProblems}, out: w, sources: newDict(),
		table: newEventTable(), width: -1}
	im.targets = im.sources
	if o.Bipartite {
		im.targets = newDict()
	}
	if len(o.EdgeFeatures) > 0 && len(o.Features) == 0 {
		im.features = w.Section(native.EdgeFeatures, 0, 0, -1)
	}
	return im
}

func (im *importer) all(ctx context.Context, files []string) (*Report, error) {
	for _, path := range files {
		in, err := openTable(ctx, path)
		if err != nil {
			return nil, err
		}
		err = im.file(ctx, path, in)
		in.Close()
		if err != nil {
			return nil, err
		}
	}
	return im.finish(ctx, files)
}

// file reads one table of events. Problems of its rows are collected; the error is for what makes reading on pointless.
func (im *importer) file(ctx context.Context, path string, in *input.File) error {
	im.reader = &tableReader{path: path, o: im.Options, merge: im.merge}
	im.reader.choose = func(names []string) (Columns, error) {
		cols, err := im.choose(path, names)
		if im.columns.Source == "" {
			im.columns = cols
		}
		return cols, err
	}
	return im.noted(im.reader.read(ctx, in))
}

// choose finds the columns of a file.
func (im *importer) choose(path string, names []string) (Columns, error) {
	c := chooser{path, names}
	cols, err := c.events(im.Options)
	if err != nil {
		return cols, err
	}
	others := append([]string{cols.Source, cols.Target, cols.Time, cols.Label}, cols.EdgeFeatures...)
	list, err := c.encoded(im.Features, others, "--features")
	if err != nil {
		return cols, err
	}
	for _, a := range list {
		cols.Features = append(cols.Features, a.name)
	}
	cols.Ignored = c.rest(cols)
	return cols, im.encoders.begin(path, list, im.Missing)
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
	im.encoders.read(im.reader.path, b)
	im.reader.take(&im.finder, b)
	if im.finder.Total == 0 { // nothing will be written otherwise
		if im.table.n+len(b.src) > math.MaxInt32-1 || im.sources.len()+im.targets.len()+2*len(b.src) > math.MaxInt32-1 {
			return input.FileError(im.reader.path, "too many events or nodes",
				fmt.Sprintf("at most %d of each", math.MaxInt32))
		}
		for i := range b.src {
			im.table.add(event.Event{Src: im.sources.id(b.src[i]), Dst: im.targets.id(b.dst[i]), Time: b.time[i],
				Label: b.label[i]})
		}
		if err := im.writeFeatures(b.feat); err != nil {
			return err
		}
	}
	if im.Progress != nil {
		im.Progress(Progress{File: im.reader.path, Rows: im.table.n, Bytes: im.reader.in.Delivered(),
			Size: im.reader.size()})
	}
	return nil
}

// agree checks a block against those before it.
func (im *importer) agree(b *importBlock) {
	if len(b.src) == 0 {
		return
	}
	p := b.place(im.reader.path, 0)
	if im.format == "" {
		im.format = b.format
	} else if b.format != im.format {
		p.Bad("", "a "+b.format+" as time", "a "+im.format+", as in the rows before")
	}
	if im.width < 0 {
		im.width = b.width
	} else if b.width != im.width {
		p.Bad("", fmt.Sprintf("%d edge features", b.width), fmt.Sprintf("%d, as in the rows before", im.width))
	}
}

func (im *importer) writeFeatures(feat []float32) error {
	if len(im.encoders.readers) > 0 {
		im.plain = append(im.plain, feat...)
		return nil
	}
	if im.features == nil || len(feat) == 0 {
		return nil
	}
	if im.features.Size() == 0 {
		im.features.Write(make([]byte, 4*im.width)) // row 0 is padding
	}
	for _, v := range feat {
		if v != 0 {
			im.nonzero = true
			break
		}
	}
	_, err := im.features.Write(native.Bytes(feat))
	return err
}
