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

// table reads an ml_NAME.csv into columns.
type table struct {
	path   string
	finder *input.Finder

	src, dst []event.Node
	time     []event.Time
	label    []float32    // nil while all are 0
	edge     []event.Edge // nil while they count 1, 2, …

	maxNode     event.Node
	maxEdge     event.Edge
	used        idset.Set // edge ids so far, once they do not count 1, 2, …
	rows, lines int       // behind us

	width               int // columns
	u, i, ts, lab, edgs int // where they are
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
	txt, err := input.NewText(in, true, "text with "+columnsWanted)
	if err != nil {
		return err
	}
	head, err := txt.FirstLine(false)
	if err != nil {
		return err
	}
	if err := t.header(head); err != nil {
		return err
	}
	t.lines = 1
	stop := errors.New("enough problems")
	err = input.InOrder(ctx, txt, t.parse, func(b *tableBlock) error {
		t.merge(b)
		if t.finder.Most == 1 && t.finder.Total > 0 {
			return stop
		}
		return nil
	})
	var bad *input.Error
	if errors.As(err, &bad) && bad.Line > 0 {
		bad.Line += t.lines
	}
	if errors.Is(err, stop) {
		return nil
	}
	return err
}

// header finds the columns by name.
func (t *table) header(line []byte) error {
	s := input.Splitter{Delim: ','}
	if _, _, bad := s.Row(line); bad != "" {
		return &input.Error{File: t.path, Line: 1, Row: -1, Found: bad, Want: columnsWanted}
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
			return &input.Error{File: t.path, Line: 1, Row: -1, Found: fmt.Sprintf("column %s twice", name),
				Want: columnsWanted}
		}
		*at = n
	}
	for _, name := range []string{"u", "i", "ts", "label", "idx"} {
		if *places[name] < 0 {
			return &input.Error{File: t.path, Line: 1, Row: -1,
				Found: fmt.Sprintf("no column %s in %s", name, input.Quote(line)), Want: columnsWanted}
		}
	}
	return nil
}

// tableBlock is the rows of one block of text.
type tableBlock struct {
	src, dst  []event.Node
	time      []float64
	label     []float32
	edge      []event.Edge
	row, line []int32 // where each comes from, counted from 1 in this block
	input.Block
}

func (t *table) parse(data []byte, b *tableBlock) {
	b.src, b.dst, b.time, b.label, b.edge = b.src[:0], b.dst[:0], b.time[:0], b.label[:0], b.edge[:0]
	b.row, b.line = b.row[:0], b.line[:0]
	b.Reset(t.finder.Most, ',')
	for p, f := range b.Each(t.path, data) {
		if len(f) != t.width {
			p.Bad("", fmt.Sprintf("%d columns", len(f)), fmt.Sprintf("%d, as in the header", t.width))
			continue
		}
		b.event(t, place{p}, f)
	}
}

// event takes the fields of one row.
func (b *tableBlock) event(t *table, p place, f [][]byte) {
	u, ok1 := p.id("u", f[t.u])
	v, ok2 := p.id("i", f[t.i])
	at, ok3 := p.number("ts", f[t.ts])
	label, ok4 := p.float("label", f[t.lab])
	edge, ok5 := p.id("idx", f[t.edgs])
	if !(ok1 && ok2 && ok3 && ok4 && ok5) {
		return
	}
	b.src = append(b.src, u)
	b.dst = append(b.dst, v)
	b.time = append(b.time, at)
	b.label = append(b.label, label)
	b.edge = append(b.edge, edge)
	b.row = append(b.row, int32(p.Row))
	b.line = append(b.line, int32(p.Line))
}

// merge appends a block, checking what only shows in order.
func (t *table) merge(b *tableBlock) {
	for k := range b.src {
		p := b.Block.Place(t.path, int(b.line[k]), int(b.row[k]))
		if n := len(t.time); n > 0 && b.time[k] < t.time[n-1] {
			p.Bad("ts", written(b.time[k])+" after "+written(t.time[n-1])+" in the row before",
				"times that never decrease")
		}
		if !t.number(b.edge[k]) {
			p.Bad("idx", strconv.Itoa(int(b.edge[k])), "every idx once")
		}
		if t.label == nil && b.label[k] != 0 {
			t.label = make([]float32, len(t.src), cap(t.src))
		}
		if t.label != nil {
			t.label = append(t.label, b.label[k])
		}
		t.src = append(t.src, b.src[k])
		t.dst = append(t.dst, b.dst[k])
		t.time = append(t.time, b.time[k])
		t.maxNode = max(t.maxNode, b.src[k], b.dst[k])
	}
	t.finder.Take(&b.Finder, t.rows, t.lines)
	t.rows += b.Rows
	t.lines += b.Lines
}

// written is a time as tables have it.
func written(at event.Time) string { return input.FormatTime(at, input.TimeNumber) }

// number takes the edge id of the next event, and says whether it is new.
func (t *table) number(e event.Edge) bool {
	n := len(t.src)
	t.maxEdge = max(t.maxEdge, e)
	if t.edge == nil {
		if int(e) == n+1 {
			return true
		}
		t.edge = make([]event.Edge, n, cap(t.src))
		for i := range t.edge {
			t.edge[i] = event.Edge(i + 1)
			t.used.Add(t.edge[i])
		}
	}
	t.edge = append(t.edge, e)
	return t.used.Add(e)
}

// place is a place that reads the values of published tables. One that is bad is noted.
type place struct{ input.Place }

// id reads a whole number from 1 that fits into 32 bits.
func (p place) id(column string, b []byte) (int32, bool) {
	v, ok := input.ParseInt(b)
	if ok && v >= 1 && v <= math.MaxInt32 {
		return int32(v), true
	}
	switch {
	case ok && v == 0:
		p.Bad(column, "0", "ids from 1: 0 is reserved for padding")
	default:
		p.Bad(column, input.Quote(b), fmt.Sprintf("a whole number from 1 to %d", math.MaxInt32))
	}
	return 0, false
}

// number reads a time that is a number.
func (p place) number(column string, b []byte) (event.Time, bool) {
	v, ok := input.ParseFloat(b)
	switch {
	case !ok || !input.Finite(v):
		p.Bad(column, input.Quote(b), "a finite number")
	case math.Abs(v) > event.MaxTime:
		p.Bad(column, input.Quote(b), input.WantWithin)
	default:
		return v, true
	}
	return 0, false
}

// float reads a number that fits into 32 bits.
func (p place) float(column string, b []byte) (float32, bool) {
	v, ok := input.ParseFloat(b)
	switch {
	case !ok || !input.Finite(v):
		p.Bad(column, input.Quote(b), "a finite number")
	case !input.Finite(float64(float32(v))):
		p.Bad(column, input.Quote(b), input.WantFloat32)
	default:
		return float32(v), true
	}
	return 0, false
}
