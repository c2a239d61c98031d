package event

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// Log is an append-only table of events in order of arrival, one column per field. Times need not ascend: an index
// orders them.
//
// Three columns cost nothing while they say nothing: labels and kinds while all are 0, edge ids while the i-th event's
// is i+1. An event then takes 16 bytes, at most 26.
//
// One goroutine may append while others read Spans they were handed before; the other methods need the writer's
// goroutine or a lock. The zero Log is empty and ready for use.
type Log struct {
	all    Span
	nodes  int  // 1 + the largest node id, 0 while empty
	jumped bool // some event is earlier than the one before it
	grows  *Log // what this was Now of; nil: it is that itself
	of     *Log // what this is a selection of; nil: nobody knows
	stored *stored
	index  any // of the events as they are; nil: there is none yet
}

// stored is a file whose columns a log shows.
type stored struct {
	once  sync.Once
	check func() error
	err   error
	fine  atomic.Bool
}

// DamageError says that the columns of a log, or of an index, cannot be read. What reads them without an error to
// return panics with it.
type DamageError struct{ Err error }

func (e *DamageError) Error() string { return e.Err.Error() }
func (e *DamageError) Unwrap() error { return e.Err }

// Guarded lets tensor.Guard return the error.
func (e *DamageError) Guarded() {}

// Guard runs f and returns its panic with a *DamageError as an error. Every other panic goes on.
func Guard(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			damage, ok := p.(*DamageError)
			if !ok {
				panic(p)
			}
			err = damage
		}
	}()
	f()
	return nil
}

// NewLog makes an empty log with room for capacity events, to the byte.
func NewLog(capacity int) *Log {
	l := &Log{}
	l.all.Src = make([]Node, 0, capacity)
	l.all.Dst = make([]Node, 0, capacity)
	l.all.Time = make([]Time, 0, capacity)
	return l
}

// Columns is a whole log as plain slices of equal length. Label and Kind nil: all 0. Edge nil: 1, 2, 3, ….
type Columns struct {
	Src, Dst []Node
	Time     []Time
	Label    []float32
	Edge     []Edge
	Kind     []Kind
}

// FromColumns makes a log of the columns without copying them, so they may lie in a mapped file. They belong to the log
// from then on, which never writes to them. The error names the first bad row, counted from 0.
func FromColumns(c Columns) (*Log, error) {
	n := len(c.Src)
	for _, col := range []struct {
		name string
		rows int
		must bool
	}{{"destination", len(c.Dst), true}, {"time", len(c.Time), true}, {"label", len(c.Label), c.Label != nil},
		{"edge", len(c.Edge), c.Edge != nil}, {"kind", len(c.Kind), c.Kind != nil}} {
		if col.must && col.rows != n {
			return nil, fmt.Errorf("%w: %s column has %d rows, the source column %d", ErrInvalid, col.name, col.rows, n)
		}
	}
	if n > math.MaxInt32 {
		return nil, tooMany(n)
	}
	l := &Log{all: c.span()}
	last := math.Inf(-1)
	for i := range n {
		e := l.all.At(i)
		err := e.Check()
		if err == nil && e.Edge == 0 {
			err = fmt.Errorf("%w: edge 0, edge ids start at 1", ErrInvalid)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		l.note(e, last)
		last = e.Time
	}
	return l, nil
}

// FromFile makes a log of columns that lie in a file, in the order of time, with node ids below nodes. None of them is
// read before somebody asks for events; then check is called, once. If it finds fault, Verify returns its error, and
// whatever else reads events panics with a *DamageError.
func FromFile(c Columns, nodes int, check func() error) *Log {
	return &Log{all: c.span(), nodes: nodes, stored: &stored{check: check}}
}

func (c Columns) span() Span {
	return Span{Src: slices.Clip(c.Src), Dst: slices.Clip(c.Dst), Time: slices.Clip(c.Time),
		label: slices.Clip(c.Label), edge: slices.Clip(c.Edge), kind: slices.Clip(c.Kind)}
}

// Verify checks the columns of a log that lies in a file, if nobody has. Any number of goroutines may call it.
func (l *Log) Verify() error {
	if l.stored == nil {
		return nil
	}
	s := l.stored
	s.once.Do(func() {
		s.err = s.check()
		s.fine.Store(s.err == nil)
	})
	return s.err
}

// SetIndex keeps an index of the log as it is, for Index. It is forgotten when the log grows.
func (l *Log) SetIndex(index any) { l.index = index }

// Index is what SetIndex was given, nil for none.
func (l *Log) Index() any { return l.index }

// Of is the log whose Select or Part this is, as it was then; nil if it is none, or has grown since.
func (l *Log) Of() *Log { return l.of }

// read is called before any event is handed out.
func (l *Log) read() {
	if l.stored == nil || l.stored.fine.Load() {
		return
	}
	if err := l.Verify(); err != nil {
		panic(&DamageError{err})
	}
}

// Append adds e and returns its edge id: e.Edge, or the event's place counted from 1 where that is 0.
// The log is unchanged if e is not valid.
func (l *Log) Append(e Event) (Edge, error) {
	l.read()
	n := l.Len()
	if err := e.Check(); err != nil {
		return 0, fmt.Errorf("event %d: %w", n, err)
	}
	if n == math.MaxInt32 {
		return 0, tooMany(n + 1)
	}
	next := Edge(n + 1)
	if e.Edge == 0 {
		e.Edge = next
	}
	a := &l.all
	if a.label == nil && e.Label != 0 {
		a.label = make([]float32, n, max(n+1, cap(a.Src)))
	}
	if a.edge == nil && e.Edge != next {
		a.edge = make([]Edge, n, max(n+1, cap(a.Src)))
		for i := range a.edge {
			a.edge[i] = Edge(i + 1)
		}
	}
	if a.kind == nil && e.Kind != 0 {
		a.kind = make([]Kind, n, max(n+1, cap(a.Src)))
	}
	last := math.Inf(-1)
	if n > 0 {
		last = a.Time[n-1]
	}
	a.Src = append(a.Src, e.Src)
	a.Dst = append(a.Dst, e.Dst)
	a.Time = append(a.Time, e.Time)
	if a.label != nil {
		a.label = append(a.label, e.Label)
	}
	if a.edge != nil {
		a.edge = append(a.edge, e.Edge)
	}
	if a.kind != nil {
		a.kind = append(a.kind, e.Kind)
	}
	l.note(e, last)
	l.index, l.of = nil, nil
	return e.Edge, nil
}

// Expect makes room for this many more events.
func (l *Log) Expect(more int) {
	a := &l.all
	a.Src, a.Dst, a.Time = slices.Grow(a.Src, more), slices.Grow(a.Dst, more), slices.Grow(a.Time, more)
	if a.label != nil {
		a.label = slices.Grow(a.label, more)
	}
	if a.edge != nil {
		a.edge = slices.Grow(a.edge, more)
	}
	if a.kind != nil {
		a.kind = slices.Grow(a.kind, more)
	}
}

// Len is the number of events.
func (l *Log) Len() int { return len(l.all.Src) }

// Numbered says whether the i-th event's edge id is i+1.
func (l *Log) Numbered() bool { return l.all.edge == nil }

// Now is the log as it is: it shares the columns, and stays as it is when this one grows. It must not be appended to.
func (l *Log) Now() *Log {
	now := *l
	now.all = l.all.Slice(0, l.Len())
	now.grows = l.origin()
	return &now
}

// Continues says whether the log has the events of an earlier one first: it is the same, or what Now was of it later.
func (l *Log) Continues(earlier *Log) bool {
	return l.origin() == earlier.origin() && l.Len() >= earlier.Len()
}

// Grows says whether the log is what Now was of one that more events may come to.
func (l *Log) Grows() bool { return l.grows != nil }

func (l *Log) origin() *Log {
	if l.grows != nil {
		return l.grows
	}
	return l
}

// At is the i-th event in order of arrival.
func (l *Log) At(i int) Event {
	l.read()
	return l.all.At(i)
}

// All is the whole log so far.
func (l *Log) All() Span { return l.Span(0, l.Len()) }

// Span is events lo to hi−1, without copying.
func (l *Log) Span(lo, hi int) Span {
	l.read()
	return l.all.Slice(lo, hi)
}

// Batches walks events lo to hi−1 in consecutive spans of size events; the last one may be smaller.
func (l *Log) Batches(lo, hi, size int) iter.Seq[Span] { return l.Span(lo, hi).Batches(size) }

// NumNodes is 1 + the largest node id, 0 for an empty log.
func (l *Log) NumNodes() int { return l.nodes }

// Sorted says whether no event is earlier than the one before it.
func (l *Log) Sorted() bool { return !l.jumped }

// InOrder is the log in the order of time: itself if it is in order. Events of one instant stay as they are, and all
// keep their edge ids.
func (l *Log) InOrder() *Log {
	if l.Sorted() {
		return l
	}
	order := make([]int, l.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(l.all.Time[i], l.all.Time[j]) })
	sorted := NewLog(0)
	sorted.Expect(l.Len())
	for _, i := range order {
		if _, err := sorted.Append(l.At(i)); err != nil {
			panic(err) // it was in a log before
		}
	}
	return sorted
}

// Select copies the events that keep names by position, which is asked about each once, by several goroutines. They
// keep their edge ids and order, and take no more room than they need.
func (l *Log) Select(keep func(i int) bool) *Log {
	n, all := l.Len(), l.All()
	kept := make([]uint64, (n+63)/64) // a bit for each event
	counts := make([]int, parallel.Chunks(n, selectChunk)+1)
	parallel.Ranges(n, selectChunk, func(part, lo, hi int) {
		for i := lo; i < hi; i++ {
			if keep(i) {
				kept[i/64] |= 1 << (i % 64)
				counts[part+1]++
			}
		}
	})
	for part := range counts[1:] {
		counts[part+1] += counts[part]
	}
	out := newColumns(all, counts[len(counts)-1])
	parallel.Ranges(n, selectChunk, func(part, lo, hi int) {
		k := counts[part]
		for i := lo; i < hi; i++ {
			if kept[i/64]&(1<<(i%64)) != 0 {
				out.take(k, all, i)
				k++
			}
		}
	})
	return out.log(l)
}

// Renumbered is a copy of the log in which nodes have other numbers, from 1.
func (l *Log) Renumbered(number func(Node) Node) *Log {
	out := NewLog(l.Len())
	for i := range l.Len() {
		e := l.At(i)
		e.Src, e.Dst = number(e.Src), number(e.Dst)
		if _, err := out.Append(e); err != nil {
			panic(err) // a number below 1
		}
	}
	return out
}

// selectChunk is a multiple of 64, so that no two goroutines write to one word of bits.
const selectChunk = 1 << 18

// Part is events lo to hi−1 as a log, which shares the columns of this one but for edge ids.
func (l *Log) Part(lo, hi int) *Log {
	c := columns{Columns: Columns{Edge: memory.Huge(make([]Edge, hi-lo))}}
	s := l.Span(lo, hi)
	c.Src, c.Dst, c.Time, c.Label, c.Kind = s.Src, s.Dst, s.Time, s.label, s.kind
	parallel.Ranges(hi-lo, selectChunk, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			c.Edge[i] = s.Edge(i)
		}
	})
	return c.log(l)
}

// columns is a log that is being made of events of another one.
type columns struct{ Columns }

// newColumns makes room for n events of a log.
func newColumns(of Span, n int) columns {
	c := columns{Columns{Src: memory.Huge(make([]Node, n)), Dst: memory.Huge(make([]Node, n)),
		Time: memory.Huge(make([]Time, n)), Edge: memory.Huge(make([]Edge, n))}}
	if of.label != nil {
		c.Label = make([]float32, n)
	}
	if of.kind != nil {
		c.Kind = make([]Kind, n)
	}
	return c
}

// take writes event i of a span as the k-th.
func (c columns) take(k int, from Span, i int) {
	c.Src[k], c.Dst[k], c.Time[k], c.Edge[k] = from.Src[i], from.Dst[i], from.Time[i], from.Edge(i)
	if c.Label != nil {
		c.Label[k] = from.label[i]
	}
	if c.Kind != nil {
		c.Kind[k] = from.kind[i]
	}
}

// log is the log of the columns, which are events of another one. Those that say nothing are left out.
func (c columns) log(of *Log) *Log {
	n := len(c.Src)
	chunks := parallel.Chunks(n, selectChunk)
	nodes, jumped := make([]Node, chunks), make([]bool, chunks)
	numbered, labelled, kinds := make([]bool, chunks), make([]bool, chunks), make([]bool, chunks)
	parallel.Ranges(n, selectChunk, func(part, lo, hi int) {
		var most Node
		number, label, kind, jump := false, false, false, false
		for i := lo; i < hi; i++ {
			most = max(most, c.Src[i], c.Dst[i])
			number = number || int(c.Edge[i]) != i+1
			label = label || c.Label != nil && c.Label[i] != 0
			kind = kind || c.Kind != nil && c.Kind[i] != 0
			jump = jump || i > 0 && c.Time[i] < c.Time[i-1]
		}
		nodes[part], jumped[part], numbered[part], labelled[part], kinds[part] = most, jump, number, label, kind
	})
	l := &Log{all: Span{Src: slices.Clip(c.Src), Dst: slices.Clip(c.Dst), Time: slices.Clip(c.Time)},
		jumped: slices.Contains(jumped, true), of: of.Now()}
	if n > 0 {
		l.nodes = int(slices.Max(nodes)) + 1
	}
	if slices.Contains(numbered, true) {
		l.all.edge = slices.Clip(c.Edge)
	}
	if slices.Contains(labelled, true) {
		l.all.label = slices.Clip(c.Label)
	}
	if slices.Contains(kinds, true) {
		l.all.kind = slices.Clip(c.Kind)
	}
	return l
}

// Bytes is the memory that the columns hold, unused capacity included.
func (l *Log) Bytes() int {
	a := &l.all
	return int(unsafe.Sizeof(*l)) + 4*(cap(a.Src)+cap(a.Dst)+cap(a.label)+cap(a.edge)) + 8*cap(a.Time) + 2*cap(a.kind)
}

// note updates what the log knows about all its events: e was added after one at time last.
func (l *Log) note(e Event, last Time) {
	l.nodes = max(l.nodes, int(e.Src)+1, int(e.Dst)+1)
	l.jumped = l.jumped || e.Time < last
}

func tooMany(n int) error {
	return fmt.Errorf("%w: number %d, a log holds at most %d events", ErrInvalid, n, math.MaxInt32)
}

// Span is a run of events, a window on a log's columns: do not modify them. It stays as it is when the log grows.
type Span struct {
	Src, Dst []Node // [n]
	Time     []Time // [n]

	label []float32 // [n], nil: all 0
	kind  []Kind    // [n], nil: all 0
	edge  []Edge    // [n], nil: first+1, first+2, …
	first int       // position of the first event in its log
}

// Len is the number of events.
func (s Span) Len() int { return len(s.Src) }

// At is the i-th event of the span.
func (s Span) At(i int) Event {
	return Event{Src: s.Src[i], Dst: s.Dst[i], Time: s.Time[i], Label: s.Label(i), Edge: s.Edge(i), Kind: s.Kind(i)}
}

// Edge is the edge id of the i-th event.
func (s Span) Edge(i int) Edge {
	if s.edge == nil {
		return Edge(s.first + i + 1)
	}
	return s.edge[i]
}

// Label is the label of the i-th event's source.
func (s Span) Label(i int) float32 {
	if s.label == nil {
		return 0
	}
	return s.label[i]
}

// Kind is the kind of the i-th event, 0 where none is known.
func (s Span) Kind(i int) Kind {
	if s.kind == nil {
		return 0
	}
	return s.kind[i]
}

// HasKinds says whether some event of the log that the span is of has a kind.
func (s Span) HasKinds() bool { return s.kind != nil }

// First is the position in the log of the span's first event.
func (s Span) First() int { return s.first }

// Slice is events lo to hi−1 of the span.
func (s Span) Slice(lo, hi int) Span {
	out := Span{Src: s.Src[lo:hi:hi], Dst: s.Dst[lo:hi:hi], Time: s.Time[lo:hi:hi], first: s.first + lo}
	if s.label != nil {
		out.label = s.label[lo:hi:hi]
	}
	if s.edge != nil {
		out.edge = s.edge[lo:hi:hi]
	}
	if s.kind != nil {
		out.kind = s.kind[lo:hi:hi]
	}
	return out
}

// Batches walks the span in consecutive spans of size events; the last one may be smaller.
func (s Span) Batches(size int) iter.Seq[Span] {
	if size < 1 {
		panic(fmt.Sprintf("event: batches of %d events, must be at least 1", size))
	}
	return func(yield func(Span) bool) {
		for lo := 0; lo < s.Len(); lo += size {
			if !yield(s.Slice(lo, min(lo+size, s.Len()))) {
				return
			}
		}
	}
}
