package table

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// csvRows knows where the columns of a delimited table are; −1 for those it does not have.
type csvRows struct {
	*tableReader
	names                 []string
	delim                 byte
	src, dst, time, label int
	feat, cells           []int
}

func (r *tableReader) csv(ctx context.Context) error {
	txt, names, err := r.openCSV()
	if err != nil {
		return err
	}
	cols, err := r.choose(names)
	if err != nil {
		return err
	}
	at := func(name string) int {
		if name == "" {
			return -1
		}
		return slices.Index(names, name)
	}
	c := &csvRows{tableReader: r, names: names, delim: txt.Delim, src: at(cols.Source), dst: at(cols.Target),
		time: at(cols.Time), label: at(cols.Label)}
	for _, f := range cols.EdgeFeatures {
		c.feat = append(c.feat, at(f))
	}
	for _, f := range cols.Features {
		c.cells = append(c.cells, at(f))
	}
	return input.InOrder(ctx, txt, c.parse, r.merge)
}

// openCSV finds the delimiter and the column names, and leaves txt at the first row.
func (r *tableReader) openCSV() (txt *input.Text, names []string, err error) {
	if txt, err = input.NewText(r.in, true, "a table as CSV, JSONL or Parquet"); err != nil {
		return nil, nil, err
	}
	head, err := txt.FirstLine(true)
	if err != nil {
		return nil, nil, err
	}
	switch d := r.o.Delimiter; {
	case d == "":
		txt.Delim = likelyDelimiter(head)
	case len(d) == 1 && !strings.Contains("\"\r\n", d):
		txt.Delim = d[0]
	default:
		return nil, nil, fmt.Errorf("delimiter %q, want one character that is no quote and no line end", d)
	}
	s := input.Splitter{Delim: txt.Delim}
	rest, lines, bad := s.Row(txt.Ahead)
	if bad != "" {
		return nil, nil, &input.Error{File: r.path, Line: 1, Row: -1, Found: bad, Want: input.WantQuotes}
	}
	for i, f := range s.Fields {
		name := strings.TrimSpace(string(f))
		if r.o.NoHeader {
			name = strconv.Itoa(i + 1)
		} else if slices.Contains(names, name) && name != "" {
			return nil, nil, &input.Error{File: r.path, Line: 1, Row: -1, Found: "column " + name + " twice",
				Want: "every column name once"}
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, nil, input.FileError(r.path, "no column names in the first line",
			"a table as CSV, JSONL or Parquet")
	}
	if !r.o.NoHeader {
		txt.Ahead, r.lines = rest, lines
	}
	return txt, names, nil
}

// likelyDelimiter is the one the first line has most of; a space only if there is no other.
func likelyDelimiter(line []byte) byte {
	best, most := byte(','), 0
	for _, d := range []byte{',', '\t', ';', '|'} {
		if n := bytes.Count(line, []byte{d}); n > most {
			best, most = d, n
		}
	}
	if most == 0 && bytes.IndexByte(bytes.TrimSpace(line), ' ') > 0 {
		return ' '
	}
	return best
}

func (c *csvRows) parse(data []byte, b *importBlock) {
	b.reset(c.o.MaxProblems, c.delim)
	for p, f := range b.Each(c.path, data) {
		if len(f) != len(c.names) {
			p.Bad("", fmt.Sprintf("%d columns", len(f)), fmt.Sprintf("%d, as in the first line", len(c.names)))
			continue
		}
		c.row(b, place{p}, f)
	}
}

func (c *csvRows) row(b *importBlock, p place, f [][]byte) {
	v := row{ok: true}
	begin := b.begin()
	v.src = p.key(&v, c.names[c.src], f[c.src])
	if c.dst >= 0 {
		v.dst = p.key(&v, c.names[c.dst], f[c.dst])
	}
	if c.time >= 0 {
		v.time, v.format = p.time(&v, c.names[c.time], f[c.time])
	}
	if c.label >= 0 {
		v.label = p.label(&v, c.names[c.label], f[c.label])
	}
	for _, i := range c.feat {
		b.feat = append(b.feat, p.feature(&v, c.names[i], f[i]))
	}
	for _, i := range c.cells {
		b.cells = append(b.cells, f[i])
	}
	b.add(p, v, begin)
}

// place is a place that reads the values of a row. One that is bad is noted and spoils the row.
type place struct{ input.Place }

// key reads a node's name.
func (p place) key(v *row, column string, b []byte) key {
	// may be space of some kind
	if n := len(b); n == 0 || b[0] <= ' ' || b[n-1] <= ' ' || b[0] >= utf8.RuneSelf || b[n-1] >= utf8.RuneSelf {
		if b = bytes.TrimSpace(b); len(b) == 0 {
			p.spoil(v, column, `""`, "a node's name")
			return key{}
		}
	}
	k := newKey(b)
	if k.text != nil && !utf8.Valid(k.text) {
		p.spoil(v, column, input.Quote(b), wantUTF8)
	}
	return k
}

const wantUTF8 = "a node's name in UTF-8; 'iconv -f WINDOWS-1252 -t UTF-8' turns a table from most older programs " +
	"into that"

// time reads a number or a date.
func (p place) time(v *row, column string, b []byte) (float64, string) {
	at, format, ok := input.ScanTime(b)
	if !ok {
		at, format, ok = input.ScanTime(bytes.TrimSpace(b))
	}
	if !ok {
		p.spoil(v, column, input.Quote(b), wantTime)
	} else if math.Abs(at) > event.MaxTime {
		p.spoil(v, column, input.Quote(b), input.WantWithin)
	}
	return at, format
}

const wantTime = "a finite number or a date such as 2024-05-01T12:00:00Z"

// label reads a number; true and false are 1 and 0.
func (p place) label(v *row, column string, b []byte) float32 {
	f, ok := input.ParseFloat(b)
	if !ok {
		b = bytes.TrimSpace(b)
		switch strings.ToLower(string(b)) {
		case "true":
			return 1
		case "false":
			return 0
		}
		f, ok = input.ParseFloat(b)
	}
	if !ok || !input.Finite(float64(float32(f))) {
		p.spoil(v, column, input.Quote(b), wantLabel)
	}
	return float32(f)
}

const wantLabel = "a finite number, true or false"

// feature reads a number that fits into 32 bits.
func (p place) feature(v *row, column string, b []byte) float32 {
	f, ok := input.ParseFloat(b)
	if !ok {
		f, ok = input.ParseFloat(bytes.TrimSpace(b))
	}
	if !ok {
		p.spoil(v, column, input.Quote(b), wantFeature)
	} else if !input.Finite(float64(float32(f))) {
		p.spoil(v, column, input.Quote(b), input.WantFloat32)
	}
	return float32(f)
}

const wantFeature = input.WantFloat32 + "; words, dates and missing values are taken by --features and --node-features"

func (p place) spoil(v *row, column, found, want string) {
	p.Bad(column, found, want)
	v.ok = false
}
