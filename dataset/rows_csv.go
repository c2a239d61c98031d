package dataset

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/event"
)

// csvRows knows where the columns of a delimited table are; −1 for those it does not have.
type csvRows struct {
	*tableReader
	names                 []string
	delim                 byte
	src, dst, time, label int
	feat                  []int
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
	c := &csvRows{tableReader: r, names: names, delim: txt.delim, src: at(cols.Source), dst: at(cols.Target), time: at(cols.Time), label: at(cols.Label)}
	for _, f := range cols.EdgeFeatures {
		c.feat = append(c.feat, at(f))
	}
	return inOrder(ctx, txt, c.parse, r.merge)
}

// openCSV finds the delimiter and the column names, and leaves txt at the first row.
func (r *tableReader) openCSV() (txt *text, names []string, err error) {
	if txt, err = newText(r.in, true, "a table as CSV, JSONL or Parquet"); err != nil {
		return nil, nil, err
	}
	head, err := txt.firstLine(true)
	if err != nil {
		return nil, nil, err
	}
	switch d := r.o.Delimiter; {
	case d == "":
		txt.delim = likelyDelimiter(head)
	case len(d) == 1 && !strings.Contains("\"\r\n", d):
		txt.delim = d[0]
	default:
		return nil, nil, fmt.Errorf("delimiter %q, want one character that is no quote and no line end", d)
	}
	s := splitter{delim: txt.delim}
	rest, lines, bad := s.row(txt.carry)
	if bad != "" {
		return nil, nil, &InputError{File: r.path, Line: 1, Row: -1, Found: bad, Want: wantQuotes}
	}
	for i, f := range s.fields {
		name := strings.TrimSpace(string(f))
		if r.o.NoHeader {
			name = strconv.Itoa(i + 1)
		} else if slices.Contains(names, name) && name != "" {
			return nil, nil, &InputError{File: r.path, Line: 1, Row: -1, Found: "column " + name + " twice", Want: "every column name once"}
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, nil, fileError(r.path, "no column names in the first line", "a table as CSV, JSONL or Parquet")
	}
	if !r.o.NoHeader {
		txt.carry, r.lines = rest, lines
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
	for p, f := range b.each(c.path, data) {
		if len(f) != len(c.names) {
			p.bad("", fmt.Sprintf("%d columns", len(f)), fmt.Sprintf("%d, as in the first line", len(c.names)))
			continue
		}
		c.row(b, rowPlace{p}, f)
	}
}

func (c *csvRows) row(b *importBlock, p rowPlace, f [][]byte) {
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
	b.add(p, v, begin)
}

// rowPlace is a place that reads the values of a row. One that is bad is noted and spoils the row.
type rowPlace struct{ place }

// key reads a node's name.
func (p rowPlace) key(v *row, column string, b []byte) key {
	if n := len(b); n == 0 || b[0] <= ' ' || b[n-1] <= ' ' || b[0] >= utf8.RuneSelf || b[n-1] >= utf8.RuneSelf { // may be space of some kind
		if b = bytes.TrimSpace(b); len(b) == 0 {
			p.spoil(v, column, `""`, "a node's name")
			return key{}
		}
	}
	return newKey(b)
}

// time reads a number or a date.
func (p rowPlace) time(v *row, column string, b []byte) (float64, string) {
	at, format, ok := parseTime(b)
	if !ok {
		at, format, ok = parseTime(bytes.TrimSpace(b))
	}
	if !ok {
		p.spoil(v, column, quote(b), wantTime)
	} else if math.Abs(at) > event.MaxTime {
		p.spoil(v, column, quote(b), wantWithin)
	}
	return at, format
}

const wantTime = "a finite number or a date such as 2024-05-01T12:00:00Z"

// label reads a number; true and false are 1 and 0.
func (p rowPlace) label(v *row, column string, b []byte) float32 {
	f, ok := parseFloat(b)
	if !ok {
		b = bytes.TrimSpace(b)
		switch strings.ToLower(string(b)) {
		case "true":
			return 1
		case "false":
			return 0
		}
		f, ok = parseFloat(b)
	}
	if !ok || !finite(float64(float32(f))) {
		p.spoil(v, column, quote(b), wantLabel)
	}
	return float32(f)
}

const wantLabel = "a finite number, true or false"

// feature reads a number that fits into 32 bits.
func (p rowPlace) feature(v *row, column string, b []byte) float32 {
	f, ok := parseFloat(b)
	if !ok {
		f, ok = parseFloat(bytes.TrimSpace(b))
	}
	if !ok || !finite(float64(float32(f))) {
		p.spoil(v, column, quote(b), wantFloat32)
	}
	return float32(f)
}

func (p rowPlace) spoil(v *row, column, found, want string) {
	p.bad(column, found, want)
	v.ok = false
}
