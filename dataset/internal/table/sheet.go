package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// Sheet is a table whose columns are all kept as text, for questions about events rather than events.
type Sheet struct {
	Columns []string // names; in JSON lines more may come with later rows
	At      [3]int   // which of them are the source, the destination and the time; −1 for one that is not asked for

	asks   Asks
	row    func(p input.Place, values []string)
	reader *tableReader
	all    input.Block // problems of all rows
}

// sheetNames are those that columns of questions have first of all; otherwise they are found as in a table of events.
var sheetNames = [3]string{"u", "i", "ts"}

// Asks is what the rows of a sheet ask.
type Asks uint8

// Questions: do source and destination interact at a time, or whom does the source meet then?
const (
	Pairs Asks = iota
	Sources
)

// ReadSheet reads a table in any form that Import takes, from in where that is not nil, and calls row with every row in
// order: its place, for complaints, and its values, one for each of the columns known so far. If anything is wrong with
// the input, the error is a *input.Problems. The options' Source, Target and Time name columns; the others say how the
// table is written.
func ReadSheet(
	ctx context.Context, path string, in io.Reader, asks Asks, o Options, row func(p input.Place, values []string),
) (*Sheet, error) {
	if o.MaxProblems <= 0 {
		o.MaxProblems = 20
	}
	s := &Sheet{row: row, asks: asks}
	s.all.Finder.Most = o.MaxProblems
	file, err := openSheet(path, in)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s.reader = &tableReader{path: file.Path, o: o, in: file}
	switch f := s.reader.format(); f {
	case FormatCSV:
		err = s.csv(ctx)
	case FormatJSONL:
		err = s.jsonl(ctx)
	case FormatParquet:
		err = s.parquet(ctx)
	default:
		err = fmt.Errorf("format %q, want %s, %s or %s", f, FormatCSV, FormatJSONL, FormatParquet)
	}
	var bad *input.Error
	if errors.As(err, &bad) && bad.Line > 0 {
		bad.Line += s.reader.lines
	}
	if err != nil {
		return nil, err
	}
	return s, s.Err()
}

// Err is what is wrong with the rows, by all who complained, or nil.
func (s *Sheet) Err() error { return s.all.Finder.Err() }

func openSheet(path string, in io.Reader) (*input.File, error) {
	if in == nil {
		return input.Open(path)
	}
	return input.New("standard input", in)
}

// choose finds the three columns.
func (s *Sheet) choose(names []string) error {
	s.Columns = names
	c, o := chooser{s.reader.path, names}, s.reader.o
	for k, role := range []struct {
		asked        string
		likely       []string
		what, option string
	}{
		{o.Source, sourceNames, "source", "--src"},
		{o.Target, targetNames, "destination", "--dst"},
		{o.Time, timeNames, "time", "--time"},
	} {
		if k == 1 && s.asks == Sources {
			s.At[k] = -1
			continue
		}
		likely := role.likely
		if likely[0] != sheetNames[k] {
			likely = append([]string{sheetNames[k]}, likely...)
		}
		name, err := c.pick(role.asked, likely, role.what, role.option)
		if err != nil {
			return err
		}
		s.At[k] = slices.Index(names, name)
	}
	if at := s.At; at[0] == at[1] || at[0] == at[2] || at[1] == at[2] {
		return input.FileError(s.reader.path,
			"the same column for two of source, destination and time: "+names[at[0]]+", "+names[at[2]],
			"different columns")
	}
	return nil
}

// sheetBlock is some rows as they are.
type sheetBlock struct {
	input.Block
	rows []sheetRow
}

type sheetRow struct {
	line, row int
	values    []string
}

// keep takes a copy of a row.
func (b *sheetBlock) keep(p input.Place, fields [][]byte) {
	values := make([]string, len(fields))
	for i, f := range fields {
		values[i] = string(f)
	}
	b.rows = append(b.rows, sheetRow{p.Line, p.Row, values})
}

// merge hands the rows of a block on.
func (s *Sheet) merge(b *sheetBlock) error {
	r := s.reader
	for _, row := range b.rows {
		line := row.line
		if line > 0 {
			line += r.lines
		}
		s.row(s.all.Place(r.path, line, r.rows+row.row), row.values)
	}
	s.all.Finder.Take(&b.Finder, r.rows, r.lines)
	r.rows += b.Rows
	r.lines += b.Lines
	return nil
}

func (s *Sheet) csv(ctx context.Context) error {
	txt, names, err := s.reader.openCSV()
	if err != nil {
		return err
	}
	if err := s.choose(names); err != nil {
		return err
	}
	parse := func(data []byte, b *sheetBlock) {
		b.Reset(s.reader.o.MaxProblems, txt.Delim)
		b.rows = b.rows[:0]
		for p, f := range b.Each(s.reader.path, data) {
			if len(f) != len(names) {
				p.Bad("", fmt.Sprintf("%d columns", len(f)), fmt.Sprintf("%d, as in the first line", len(names)))
				continue
			}
			b.keep(p, f)
		}
	}
	return input.InOrder(ctx, txt, parse, s.merge)
}
