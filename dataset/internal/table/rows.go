package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/layout"
	"github.com/dygmamba/dygmamba/event"
)

// tableReader reads one of the user's tables, whatever its format, and hands its rows on in blocks.
type tableReader struct {
	path    string
	o       Options
	choose  func(names []string) (Columns, error) // which columns are wanted
	resolve func(*importBlock)                    // looks up names while other blocks are read; nil: nobody does
	merge   func(*importBlock) error              // takes the rows, in order
	nodes   bool                                  // rows are about nodes: all columns are wanted
	sheet   *Sheet                                // all columns are wanted, as text; nil: some

	in          *input.File
	layout      string // of dates, as package time writes it; "": the usual forms
	cols        Columns
	wanted      []string // source, destination, time, label, kind and id, "" for none; then plain features and cells
	rows, lines int      // merged so far
}

// Where columns are among those that are wanted.
const (
	atSource = iota
	atTarget
	atTime
	atLabel
	atKind
	atID
	atFeatures
)

// read reads the table. Lines of problems are counted from the beginning of the file.
func (r *tableReader) read(ctx context.Context, in *input.File) error {
	r.in = in
	var err error
	switch f := r.format(); f {
	case FormatCSV:
		err = r.csv(ctx)
	case FormatJSONL:
		err = r.jsonl(ctx)
	case FormatParquet:
		err = r.parquet(ctx)
	default:
		return fmt.Errorf("format %q, want %s, %s or %s", f, FormatCSV, FormatJSONL, FormatParquet)
	}
	var bad *input.Error
	if errors.As(err, &bad) && bad.Line > 0 {
		bad.Line += r.lines
	}
	return err
}

// want chooses the columns to read.
func (r *tableReader) want(names []string) (err error) {
	if r.cols, err = r.choose(names); err != nil {
		return err
	}
	c := r.cols
	r.wanted = slices.Concat([]string{c.Source, c.Target, c.Time, c.Label, c.Kind, c.ID}, c.EdgeFeatures, c.Features)
	return nil
}

// openTable opens a file, "-" being standard input or whatever is given for that. Waiting for it ends with the context.
func openTable(ctx context.Context, path string, stdin io.Reader) (*input.File, error) {
	if path != "-" {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil, noTable(path)
		}
		return input.Open(path)
	}
	if stdin == nil {
		stdin = os.Stdin
	}
	r, w := io.Pipe()
	go func() { // lives on where the context ends first, as nothing can wake it
		_, err := io.Copy(w, stdin)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	in, err := input.New("standard input", r)
	if err != nil {
		r.Close()
		return nil, err
	}
	return in, nil
}

// noTable says what a directory may be.
func noTable(dir string) error {
	if _, err := layout.In(dir); err == nil {
		return input.FileError(dir, "a directory with a data set in the ml_* layout",
			"tables; this can be used as it is: dataset.Open opens "+dir)
	}
	return input.FileError(dir, "a directory",
		"one or more tables as CSV, JSONL or Parquet, such as "+filepath.Join(dir, "*.csv"))
}

func (r *tableReader) format() string {
	head := r.in.Peek(64)
	text := strings.TrimLeft(strings.TrimPrefix(string(head), "\xef\xbb\xbf"), " \t\r\n")
	switch {
	case r.o.Format != "":
		return r.o.Format
	case strings.HasPrefix(string(head), input.ParquetMagic):
		return FormatParquet
	case strings.HasPrefix(text, "{"),
		strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(text, "["), " \t\r\n"), "{"):
		// a list is refused with what would be right
		return FormatJSONL
	}
	return FormatCSV
}

// take moves the problems of a block to f, and counts its rows.
func (r *tableReader) take(f *input.Finder, b *importBlock) {
	f.Take(&b.Finder, r.rows, r.lines)
	r.rows += b.Rows
	r.lines += b.Lines
}

// cells gives the values of one row at a place. Those that are bad are complained about.
type cells interface {
	key(p *place) key
	time(p *place) (event.Time, string)
	label(p *place) (float32, []byte) // a number, or a word; see place.label
	features(p *place)                // appends them to those of the block
	text(p *place) []byte
}

// row reads one row into a block, unless something is wrong with it.
func (r *tableReader) row(b *importBlock, at input.Place, x cells) {
	v, p := &b.row, &b.at
	*v = row{ok: true}
	p.Place, p.block, p.names, p.layout = at, b, r.wanted, r.layout
	feat, texts := len(b.feat), len(b.cells)
	for i, name := range r.wanted {
		p.column = i
		switch {
		case i < atFeatures && name == "":
		case i == atSource:
			v.src = x.key(p)
		case i == atTarget:
			v.dst = x.key(p)
		case i == atTime:
			v.time, v.format = x.time(p)
		case i == atLabel:
			v.label, v.word = x.label(p)
		case i == atKind:
			v.kind = x.text(p)
		case i == atID:
			v.id = x.text(p)
		case i < atFeatures+len(r.cols.EdgeFeatures):
			x.features(p)
		default:
			b.cells = append(b.cells, x.text(p))
		}
	}
	b.add(p, feat, texts)
}

// inOrder parses the blocks of a text on all cores, looks up the names they have, and merges them.
func (r *tableReader) inOrder(ctx context.Context, txt *input.Text, parse func(data []byte, b *importBlock)) error {
	return input.InOrder(ctx, txt, func(data []byte, b *importBlock) {
		parse(data, b)
		if r.resolve != nil {
			r.resolve(b)
		}
	}, r.merge)
}

// importBlock is some rows of a table. Columns that are not wanted hold zero values.
type importBlock struct {
	src, dst []key
	// their numbers in the dictionaries, 0 where these are not known yet
	srcLocal, dstLocal []event.Node

	time   []event.Time
	label  []float32
	word   [][]byte // of labels that are words; nil where no column of labels is wanted
	kind   [][]byte // nil where no column of kinds is wanted
	id     [][]byte // nil where no column of ids is wanted
	spot   []spot
	feat   []float32 // width values a row
	cells  [][]byte  // of columns to encode, as many a row as there are; nil where nothing is
	more   []member  // of a sheet: values of columns that the first row does not have
	width  int       // −1 until the first row
	format string    // of times, "" until the first row
	arena  []byte    // names that do not lie in the text
	row    row       // being read
	at     place     // in it
	input.Block
}

func (b *importBlock) reset(most int, delim byte) {
	b.src, b.dst, b.time, b.label, b.feat = b.src[:0], b.dst[:0], b.time[:0], b.label[:0], b.feat[:0]
	b.word, b.kind, b.id = b.word[:0], b.kind[:0], b.id[:0]
	b.width, b.format, b.arena, b.spot, b.cells, b.more = -1, "", b.arena[:0], b.spot[:0], b.cells[:0], b.more[:0]
	b.Block.Reset(most, delim)
}

// spot is where a row is, counted from 1 in its block.
type spot struct{ line, row int32 }

// place is where row i is, for complaints about it.
func (b *importBlock) place(file string, i int) input.Place {
	return b.Block.Place(file, int(b.spot[i].line), int(b.spot[i].row))
}

// row is the values of one row; its features are collected in a block.
type row struct {
	src, dst key
	time     event.Time
	format   string
	label    float32
	kind, id []byte
	word     []byte // a label that is one
	ok       bool   // all values are good
}

// add takes the row that was read, or drops it if something is wrong with it. Its features and cells begin where these
// say.
func (b *importBlock) add(p *place, feat, cells int) {
	n, v := len(b.feat)-feat, &b.row
	if v.ok && b.width < 0 {
		b.width, b.format = n, v.format
	}
	switch {
	case !v.ok:
	case b.format != v.format:
		p.Bad("", "a "+v.format+" as time", "a "+b.format+", as in the rows before")
	case n != b.width:
		p.Bad("", fmt.Sprintf("%d features", n), fmt.Sprintf("%d, as in the rows before", b.width))
	default:
		b.src = append(b.src, v.src)
		b.dst = append(b.dst, v.dst)
		b.time = append(b.time, v.time)
		b.label = append(b.label, v.label)
		if p.names[atLabel] != "" {
			b.word = append(b.word, v.word)
		}
		if p.names[atKind] != "" {
			b.kind = append(b.kind, v.kind)
		}
		if p.names[atID] != "" {
			b.id = append(b.id, v.id)
		}
		b.spot = append(b.spot, spot{int32(p.Line), int32(p.Row)})
		return
	}
	b.feat, b.cells = b.feat[:feat], b.cells[:cells]
}

// keep copies a text that would be overwritten.
func keep[T string | []byte](b *importBlock, text T) []byte {
	from := len(b.arena)
	b.arena = append(b.arena, text...)
	return b.arena[from:len(b.arena):len(b.arena)]
}
