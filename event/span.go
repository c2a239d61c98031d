package event

import (
	"fmt"
	"iter"
)

// Span is a run of events, a window on a log's columns: do not modify them. It stays as it is when the log grows.
type Span struct {
	Src, Dst []Node // [n]
	Time     []Time // [n]

	label []float32 // [n], nil: all 0
	edge  []Edge    // [n], nil: first+1, first+2, …
	first int       // position of the first event in its log
}

// Len is the number of events.
func (s Span) Len() int { return len(s.Src) }

// At is the i-th event of the span.
func (s Span) At(i int) Event {
	return Event{Src: s.Src[i], Dst: s.Dst[i], Time: s.Time[i], Label: s.Label(i), Edge: s.Edge(i)}
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
