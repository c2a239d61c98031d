package layout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/idset"
)

// reader reads the rows of a published table. Problems are collected by the finder, to the first where it keeps one.
type reader struct {
	path          string
	finder        *input.Finder
	event.Columns     // Label nil while all are 0
	rows, lines   int // behind us
}

// read hands the first line to header and the fields of every row to parse, and merges their blocks in order.
func (r *reader) read(ctx context.Context, in *input.File, want string, header func(line []byte) error,
	parse func(place, [][]byte, *eventBlock), merge func(*eventBlock)) error {
	txt, err := input.NewText(in, true, want)
	if err != nil {
		return err
	}
	head, err := txt.FirstLine(false)
	if err == nil {
		err = header(head)
	}
	if err != nil {
		return err
	}
	r.lines = 1
	stop := errors.New("enough problems")
	err = input.InOrder(ctx, txt, func(data []byte, b *eventBlock) {
		b.reset(r.finder.Most)
		for p, f := range b.Each(r.path, data) {
			parse(place{p}, f, b)
		}
	}, func(b *eventBlock) error {
		merge(b)
		r.finder.Take(&b.Finder, r.rows, r.lines)
		r.rows += b.Rows
		r.lines += b.Lines
		if r.finder.Most == 1 && r.finder.Total > 0 {
			return stop
		}
		return nil
	})
	var bad *input.Error
	if errors.As(err, &bad) && bad.Line > 0 {
		bad.Line += r.lines
	}
	if errors.Is(err, stop) {
		return nil
	}
	return err
}

// add appends event k of a block, but for its id.
func (r *reader) add(b *eventBlock, k int) {
	if r.Label == nil && b.Label[k] != 0 {
		r.Label = make([]float32, len(r.Src), cap(r.Src))
	}
	if r.Label != nil {
		r.Label = append(r.Label, b.Label[k])
	}
	r.Src = append(r.Src, b.Src[k])
	r.Dst = append(r.Dst, b.Dst[k])
	r.Time = append(r.Time, b.Time[k])
}

// table reads an ml_NAME.csv into columns. Edge is nil while ids count 1, 2, ….
type table struct {
	reader
	maxNode             event.Node
	maxEdge             event.Edge
	used                idset.Set // edge ids so far, once they do not count 1, 2, …
	width               int       // columns
	u, i, ts, lab, edgs int       // where they are
}

func newTable(path string, finder *input.Finder) *table {
	return &table{reader: reader{path: path, finder: finder}}
}

// columnsWanted is the header every ml_NAME.csv has.
const columnsWanted = "the header ,u,i,ts,label,idx"

func (t *table) read(ctx context.Context) error {
	in, err := input.Open(t.path)
	if err != nil {
		return err
	}
	defer in.Close()
	return t.readFrom(ctx, in)
}

func (t *table) readFrom(ctx context.Context, in *input.File) error {
	return t.reader.read(ctx, in, "text with "+columnsWanted, t.header, t.parse, t.merge)
}

// header finds the columns by name.
func (t *table) header(line []byte) error {
	bad := func(found string) error {
		return &input.Error{File: t.path, Line: 1, Row: -1, Found: found, Want: columnsWanted}
	}
	s := input.Splitter{Delim: ','}
	if _, _, found := s.Row(line); found != "" {
		return bad(found)
	}
	t.width = len(s.Fields)
	places := map[string]*int{"u": &t.u, "i": &t.i, "ts": &t.ts, "label": &t.lab, "idx": &t.edgs}
	for _, at := range places {
		*at = -1
	}
	for n, name := range s.Fields {
		at := places[strings.TrimSpace(string(name))]
		if at == nil {
			continue
		}
		if *at >= 0 {
			return bad(fmt.Sprintf("column %s twice", name))
		}
		*at = n
	}
	for _, name := range []string{"u", "i", "ts", "label", "idx"} {
		if *places[name] < 0 {
			return bad(fmt.Sprintf("no column %s in %s", name, input.Quote(line)))
		}
	}
	return nil
}

// eventBlock is the events of one block of text.
type eventBlock struct {
	event.Columns
	feat      []float32 // width values a row
	width     int       // −1 until the first row
	row, line []int32   // where each comes from, counted from 1 in this block
	input.Block
}

func (b *eventBlock) reset(most int) {
	b.Src, b.Dst, b.Time, b.Label, b.Edge = b.Src[:0], b.Dst[:0], b.Time[:0], b.Label[:0], b.Edge[:0]
	b.feat, b.width, b.row, b.line = b.feat[:0], -1, b.row[:0], b.line[:0]
	b.Reset(most, ',')
}

// add takes the event of a row.
func (b *eventBlock) add(p place, e event.Event) {
	b.Src = append(b.Src, e.Src)
	b.Dst = append(b.Dst, e.Dst)
	b.Time = append(b.Time, e.Time)
	b.Label = append(b.Label, e.Label)
	b.Edge = append(b.Edge, e.Edge)
	b.row = append(b.row, int32(p.Row))
	b.line = append(b.line, int32(p.Line))
}

// place is where event i is, for complaints about it.
func (b *eventBlock) place(file string, i int) input.Place {
	return b.Block.Place(file, int(b.line[i]), int(b.row[i]))
}

func (t *table) parse(p place, f [][]byte, b *eventBlock) {
	if len(f) != t.width {
		p.Bad("", fmt.Sprintf("%d columns", len(f)), fmt.Sprintf("%d, as in the header", t.width))
		return
	}
	u, ok1 := p.id("u", f[t.u], 1)
	v, ok2 := p.id("i", f[t.i], 1)
	at, ok3 := p.number("ts", f[t.ts])
	label, ok4 := p.float("label", f[t.lab])
	edge, ok5 := p.id("idx", f[t.edgs], 1)
	if ok1 && ok2 && ok3 && ok4 && ok5 {
		b.add(p, event.Event{Src: u, Dst: v, Time: at, Label: label, Edge: edge})
	}
}

// merge appends a block, checking what only shows in order.
func (t *table) merge(b *eventBlock) {
	for k := range b.Src {
		p := b.place(t.path, k)
		if n := len(t.Time); n > 0 && b.Time[k] < t.Time[n-1] {
			p.Bad("ts", written(b.Time[k])+" after "+written(t.Time[n-1])+" in the row before",
				"times that never decrease")
		}
		if !t.number(b.Edge[k]) {
			p.Bad("idx", strconv.Itoa(int(b.Edge[k])), "every idx once")
		}
		t.add(b, k)
		t.maxNode = max(t.maxNode, b.Src[k], b.Dst[k])
	}
}

// written is a time as tables have it.
func written(at event.Time) string { return input.FormatTime(at, input.TimeNumber) }

// number takes the edge id of the next event, and says whether it is new.
func (t *table) number(e event.Edge) bool {
	n := len(t.Src)
	t.maxEdge = max(t.maxEdge, e)
	if t.Edge == nil {
		if int(e) == n+1 {
			return true
		}
		t.Edge = make([]event.Edge, n, cap(t.Src))
		for i := range t.Edge {
			t.Edge[i] = event.Edge(i + 1)
			t.used.Add(t.Edge[i])
		}
	}
	t.Edge = append(t.Edge, e)
	return t.used.Add(e)
}

// place is a place that reads the values of published tables. One that is bad is noted.
type place struct{ input.Place }

// id reads a whole number from first, 0 or 1, that leaves room for it in 32 bits when counted from 1.
func (p place) id(column string, b []byte, first int64) (int32, bool) {
	v, ok := input.ParseInt(b)
	last := math.MaxInt32 - 1 + first
	switch {
	case !ok || v < 0 || v > last:
		p.Bad(column, input.Quote(b), fmt.Sprintf("a whole number from %d to %d", first, last))
	case v < first:
		p.Bad(column, "0", "ids from 1: 0 is reserved for padding")
	default:
		return int32(v), true
	}
	return 0, false
}

// number reads a time that is a number.
func (p place) number(column string, b []byte) (event.Time, bool) {
	return p.within(column, b, math.Nextafter(event.MaxTime, math.Inf(1)), input.WantWithin)
}

// float reads a number that fits into 32 bits.
func (p place) float(column string, b []byte) (float32, bool) {
	v, ok := p.within(column, b, 0x1.ffffffp127, input.WantFloat32) // where rounding begins to give infinity
	return float32(v), ok
}

// within reads a number below a limit, whatever its sign.
func (p place) within(column string, b []byte, limit float64, want string) (float64, bool) {
	v, ok := input.ParseFloat(b)
	switch {
	case !ok || !input.Finite(v):
		p.Bad(column, input.Quote(b), "a finite number")
	case math.Abs(v) >= limit:
		p.Bad(column, input.Quote(b), want)
	default:
		return v, true
	}
	return 0, false
}
