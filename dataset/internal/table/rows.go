package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/layout"
	"github.com/dygmamba/dygmamba/event"
)

// tableReader reads one of the user's tables, whatever its format, and hands its rows on in blocks.
type tableReader struct {
	path   string
	o      Options
	choose func(names []string) (Columns, error) // which columns are wanted
	merge  func(*importBlock) error              // takes the rows, in order
	nodes  bool                                  // rows are about nodes: all columns are wanted

	in          *input.File
	rows, lines int // merged so far
}

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

// openTable opens a file, "-" being standard input. Waiting for that ends with the context.
func openTable(ctx context.Context, path string) (*input.File, error) {
	if path != "-" {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil, noTable(path)
		}
		return input.Open(path)
	}
	stdin := os.Stdin
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
			"tables; this can be used as it is, with --data "+dir)
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

// size is the size of the file, 0 if unknown or packed.
func (r *tableReader) size() int64 {
	if r.in.Packed {
		return 0
	}
	return r.in.Size
}

// take moves the problems of a block to f, and counts its rows.
func (r *tableReader) take(f *input.Finder, b *importBlock) {
	f.Take(&b.Finder, r.rows, r.lines)
	r.rows += b.Rows
	r.lines += b.Lines
}

// importBlock is some rows of a table. Columns that are not wanted hold zero values.
type importBlock struct {
	src, dst []key
	time     []event.Time
	label    []float32
	spot     []spot
	feat     []float32 // width values a row
	cells    [][]byte  // of columns to encode, as many a row as there are; nil where nothing is
	width    int       // −1 until the first row
	format   string    // of times, "" until the first row
	arena    []byte    // names that do not lie in the text
	input.Block
}

func (b *importBlock) reset(most int, delim byte) {
	b.src, b.dst, b.time, b.label, b.feat = b.src[:0], b.dst[:0], b.time[:0], b.label[:0], b.feat[:0]
	b.width, b.format, b.arena, b.spot, b.cells = -1, "", b.arena[:0], b.spot[:0], b.cells[:0]
	b.Block.Reset(most, delim)
}

// spot is where a row is, counted from 1 in its block.
type spot struct{ line, row int32 }

// place is where row i is, for complaints about it.
func (b *importBlock) place(file string, i int) place {
	return place{b.Block.Place(file, int(b.spot[i].line), int(b.spot[i].row))}
}

// row is the values of one row; its features are collected in a block.
type row struct {
	src, dst key
	time     event.Time
	format   string
	label    float32
	ok       bool // all values are good
}

// begin is where the features and cells of the next row begin.
func (b *importBlock) begin() start { return start{len(b.feat), len(b.cells)} }

// start is where a row begins.
type start struct{ feat, cells int }

// add takes a row, or drops it if something is wrong with it. Its features and cells are those from begin on.
func (b *importBlock) add(p place, v row, begin start) {
	n := len(b.feat) - begin.feat
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
		b.spot = append(b.spot, spot{int32(p.Line), int32(p.Row)})
		return
	}
	b.feat, b.cells = b.feat[:begin.feat], b.cells[:begin.cells]
}

// keep copies a name that would be overwritten.
func (b *importBlock) keep(name []byte) []byte {
	from := len(b.arena)
	b.arena = append(b.arena, name...)
	return b.arena[from:len(b.arena):len(b.arena)]
}
