package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
)

// csvCells are the fields of a row of a delimited table.
type csvCells struct {
	at     []int // where the wanted columns are
	fields [][]byte
}

func (r *tableReader) csv(ctx context.Context) error {
	txt, names, err := r.openCSV()
	if err != nil {
		return err
	}
	if err := r.want(names); err != nil {
		return err
	}
	at := make([]int, len(r.wanted))
	for i, name := range r.wanted {
		if at[i] = slices.Index(names, name); r.sheet != nil {
			at[i] = i - atFeatures // names may be empty
		}
	}
	width := fmt.Sprintf("%d, as in the first line", len(names))
	if r.sheet != nil && r.sheet.headless {
		width = wantNames
	}
	return r.inOrder(ctx, txt, func(data []byte, b *importBlock) {
		b.reset(r.o.MaxProblems, txt.Delim)
		x := &csvCells{at: at}
		for p, f := range b.Each(r.path, data) {
			if len(f) != len(names) {
				p.Bad("", fmt.Sprintf("%d columns", len(f)), width)
				continue
			}
			x.fields = f
			r.row(b, p, x)
		}
	})
}

func (c *csvCells) text(p *place) []byte { return c.fields[c.at[p.column]] }

func (c *csvCells) key(p *place) key { return p.key(c.fields[c.at[p.column]]) }

func (c *csvCells) time(p *place) (event.Time, string) { return p.time(c.fields[c.at[p.column]]) }

func (c *csvCells) label(p *place) (float32, []byte) { return p.label(c.fields[c.at[p.column]]) }

func (c *csvCells) features(p *place) {
	p.block.feat = append(p.block.feat, p.feature(c.fields[c.at[p.column]]))
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
	if r.sheet != nil {
		r.o.NoHeader = r.sheet.noHeader(s.Fields) || r.o.NoHeader
	} else if !r.nodes && r.o.bare(s.Fields) {
		r.o.NoHeader = true
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
	if r.sheet != nil && r.sheet.headless {
		names = []string{"1"}
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

// bare says whether the first line is no header but the first of three columns that nobody named: source, destination
// and time. No column is called like a number or a date.
func (o *Options) bare(fields [][]byte) bool {
	if o.Source != "" || o.Target != "" || o.Time != "" || len(fields) != 3 {
		return false
	}
	_, _, ok := input.ScanTime(bytes.TrimSpace(fields[2]))
	return ok
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

// place is a place that reads the values of a row. One that is bad is noted and spoils the row.
type place struct {
	input.Place
	block  *importBlock
	names  []string // of the wanted columns
	column int      // which of them
	layout string   // of dates; "": the usual forms
}

func (p *place) key(b []byte) key {
	// may be space of some kind
	if n := len(b); n == 0 || b[0] <= ' ' || b[n-1] <= ' ' || b[0] >= utf8.RuneSelf || b[n-1] >= utf8.RuneSelf {
		if b = bytes.TrimSpace(b); len(b) == 0 {
			p.spoil(`""`, "a node's name")
			return key{}
		}
	}
	k := newKey(b)
	if k.text != nil && !utf8.Valid(k.text) {
		p.spoil(input.Quote(b), wantUTF8)
	}
	return k
}

const wantUTF8 = "a node's name in UTF-8; 'iconv -f WINDOWS-1252 -t UTF-8' turns a table from most older programs " +
	"into that"

// time reads a number or a date.
func (p *place) time(b []byte) (float64, string) {
	if p.layout != "" {
		at, err := time.Parse(p.layout, string(bytes.TrimSpace(b)))
		if err != nil {
			p.spoil(input.Quote(b), "a date written like "+p.layout)
		}
		return float64(at.Unix()) + float64(at.Nanosecond())/1e9, input.TimeDate
	}
	at, format, ok := input.ScanTime(b)
	if !ok {
		at, format, ok = input.ScanTime(bytes.TrimSpace(b))
	}
	if !ok {
		p.spoil(input.Quote(b), timeWanted(b))
	} else if math.Abs(at) > event.MaxTime {
		p.spoil(input.Quote(b), input.WantWithin)
	}
	return at, format
}

const wantTime = "a finite number or a date such as 2024-05-01T12:00:00Z"

var (
	otherDate    = regexp.MustCompile(`^\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}`)
	decimalComma = regexp.MustCompile(`^\s*[+-]?\d+,\d+\s*$`)
)

// timeWanted is wantTime with what helps against two common mistakes.
func timeWanted(found []byte) string {
	switch {
	case otherDate.Match(found):
		return wantTime + "; the option TimeLayout reads dates in other forms"
	case decimalComma.Match(found):
		return wantTime + ", with a decimal point"
	}
	return wantTime
}

// label reads a number, where true and false are 1 and 0, or a word, or nothing: noLabel.
func (p *place) label(b []byte) (x float32, word []byte) {
	f, ok := input.ParseFloat(b)
	if !ok {
		b = bytes.TrimSpace(b)
		switch strings.ToLower(string(b)) {
		case "true":
			return 1, nil
		case "false":
			return 0, nil
		case "":
			return noLabel, nil
		}
		f, ok = input.ParseFloat(b)
	}
	if !ok {
		_, err := strconv.ParseFloat(string(b), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, b // a word
		}
	}
	if !ok || !input.Finite(float64(float32(f))) {
		p.spoil(input.Quote(b), wantLabel)
	}
	return float32(f), nil
}

const wantLabel = "a finite number, true, false, a word, or nothing where there is no label"

// feature reads a number that fits into 32 bits.
func (p *place) feature(b []byte) float32 {
	f, ok := input.ParseFloat(b)
	if !ok {
		f, ok = input.ParseFloat(bytes.TrimSpace(b))
	}
	if !ok {
		p.spoil(input.Quote(b), wantFeature)
	} else if !input.Finite(float64(float32(f))) {
		p.spoil(input.Quote(b), input.WantFloat32)
	}
	return float32(f)
}

const wantFeature = input.WantFloat32 +
	"; words, dates and missing values are taken by the options Features and NodeFeatures"

func (p *place) spoil(found, want string) {
	p.Bad(p.names[p.column], found, want)
	p.block.row.ok = false
}
