// Package index answers: what had this node done before t?
package index

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
)

// View is a past that can be asked about. It is safe for concurrent readers.
type View interface {
	// Before is the node's history strictly before t, oldest first, ties in order of arrival. A node that never
	// occurred has none.
	Before(n event.Node, t event.Time) History
	NumNodes() int // 1 + the largest node id that occurs
}

// Logged is a view that also tells the events it is made of, in order of arrival. A view that shows a part of another
// one's events, or shows them otherwise, has the log of what it means to show.
type Logged interface {
	View
	Events() *event.Log
}

// History is a run of a node's interactions in time order. The slices belong to the index: do not modify them.
type History struct {
	Node []event.Node // the other end
	Edge []event.Edge
	Time []event.Time
}

// Len is the number of interactions.
func (h History) Len() int { return len(h.Node) }

// Last is the most recent n interactions, or all of them.
func (h History) Last(n int) History {
	i := max(0, len(h.Node)-n)
	return History{h.Node[i:], h.Edge[i:], h.Time[i:]}
}

// slice is interactions lo to hi−1; appending to them never writes into the index.
func (h History) slice(lo, hi int) History {
	return History{h.Node[lo:hi:hi], h.Edge[lo:hi:hi], h.Time[lo:hi:hi]}
}

// set writes interaction i.
func (h History) set(i int, n event.Node, e event.Edge, at event.Time) {
	h.Node[i], h.Edge[i], h.Time[i] = n, e, at
}

// copy writes other over the interactions from i on.
func (h History) copy(i int, other History) {
	copy(h.Node[i:], other.Node)
	copy(h.Edge[i:], other.Edge)
	copy(h.Time[i:], other.Time)
}

// Frozen is the past of one log, laid out for reading: the interactions of node n are entries start[n] to start[n+1]−1
// of three columns. Every event stands in it twice, once for either end; a self-loop stands twice with its one node.
type Frozen struct {
	start []uint32  // [nodes + 1]
	all   History   // [2·events]
	log   event.Log // as it was
}

// Freeze indexes the log as it is now, by time and, within one instant, by arrival. Later appends do not show.
func Freeze(l *event.Log) *Frozen {
	s := l.All()
	f := &Frozen{
		log:   *l,
		start: make([]uint32, l.NumNodes()+1),
		all:   History{make([]event.Node, 2*s.Len()), make([]event.Edge, 2*s.Len()), make([]event.Time, 2*s.Len())},
	}
	// Counting sort by node. After the running sum start[n] is where node n ends; filling from the newest event
	// to the oldest moves it back to where node n begins.
	for i := range s.Src {
		f.start[s.Src[i]]++
		f.start[s.Dst[i]]++
	}
	sum := uint32(0)
	for n, count := range f.start {
		sum += count
		f.start[n] = sum
	}
	order := byTime(l)
	for k := s.Len() - 1; k >= 0; k-- {
		i := k
		if order != nil {
			i = int(order[k])
		}
		f.put(s.Dst[i], s.Src[i], s.Edge(i), s.Time[i])
		f.put(s.Src[i], s.Dst[i], s.Edge(i), s.Time[i])
	}
	return f
}

// put enters that n met other, before everything entered for n so far.
func (f *Frozen) put(n, other event.Node, edge event.Edge, at event.Time) {
	f.start[n]--
	i := f.start[n]
	f.all.Node[i], f.all.Edge[i], f.all.Time[i] = other, edge, at
}

// byTime is the order of a log's events by time and arrival, nil where that is the order they have.
func byTime(l *event.Log) []int32 {
	if l.Sorted() {
		return nil
	}
	times := l.All().Time
	order := make([]int32, len(times))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(times[i], times[j]), cmp.Compare(i, j))
	})
	return order
}

// Before is the node's history strictly before t.
func (f *Frozen) Before(n event.Node, t event.Time) History {
	if n < 0 || int(n) >= len(f.start)-1 {
		return History{}
	}
	lo, hi := f.start[n], f.start[n+1]
	return f.all.slice(int(lo), int(lo)+earlier(f.all.Time[lo:hi], t))
}

// Events are those of the log that was indexed, which share its memory.
func (f *Frozen) Events() *event.Log { return &f.log }

// NumNodes is 1 + the largest node id that occurs.
func (f *Frozen) NumNodes() int { return len(f.start) - 1 }

// Bytes is the memory that the index holds.
func (f *Frozen) Bytes() int {
	return int(unsafe.Sizeof(*f)) + 4*cap(f.start) + 4*(cap(f.all.Node)+cap(f.all.Edge)) + 8*cap(f.all.Time)
}

// earlier is the number of ascending times strictly before t.
func earlier(times []event.Time, t event.Time) int {
	lo, n := 0, len(times)
	for n > 0 {
		half := (n + 1) / 2
		if times[lo+half-1] < t {
			lo += half
		}
		n -= half
	}
	return lo
}
