// Package index answers: what had this node done before t?
package index

import (
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/parallel"
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

// Frozen is the past of one log, laid out for reading: node by node, each with its times, then the other ends, then the
// edge ids. Every event stands in it twice, once for either end; a self-loop stands twice with its one node.
type Frozen struct {
	start []uint32     // [nodes + 1] where the entries of a node begin
	words []event.Time // [2·entries], see HistoryIn
	log   event.Log    // as it was
	file  *File        // nil: the index is in memory of its own
	part  *part        // makes histories when they are asked for; nil: all are there
}

// Freeze indexes the log as it is now, by time and, within one instant, by arrival. Later appends do not show. Where
// the log lies in a file that has its index, that is used. The index of a part of such a log is made from it, a history
// when it is asked for.
func Freeze(l *event.Log) *Frozen {
	if f, ok := l.Index().(*File); ok {
		f.open()
		return &Frozen{start: f.Start, words: f.Words, log: *l, file: f}
	}
	if whole := l.Of(); whole != nil {
		if _, ok := whole.Index().(*File); ok {
			return partOf(Freeze(whole), l)
		}
	}
	f := &Frozen{log: *l, start: Starts(l)}
	f.words = memory.Huge(make([]event.Time, 2*int(f.start[len(f.start)-1])))
	shards := Shards(f.start, shardEntries)
	sorted := l.InOrder().All()
	parallel.Each(len(shards), func(i int) {
		lo, hi := f.start[shards[i].Lo], f.start[shards[i].Hi]
		fill(sorted, f.start, shards[i], f.words[2*int(lo):2*int(hi)])
	})
	return f
}

// HistoryIn is entries lo to hi−1 of words in the layout of Fill, all of one node.
func HistoryIn(words []event.Time, lo, hi uint32) History {
	n := int(hi - lo)
	if n == 0 {
		return History{}
	}
	own := words[2*int(lo) : 2*int(hi)]
	ids := unsafe.Slice((*int32)(unsafe.Pointer(&own[n])), 2*n)
	return History{Node: ids[:n:n], Edge: ids[n:], Time: own[:n:n]}
}

// Before is the node's history strictly before t.
func (f *Frozen) Before(n event.Node, t event.Time) History {
	if n < 0 || int(n) >= len(f.start)-1 {
		return History{}
	}
	h := f.history(n)
	return h.slice(0, earlier(h.Time, t))
}

// history is all of a node's.
func (f *Frozen) history(n event.Node) History {
	h := HistoryIn(f.words, f.start[n], f.start[n+1])
	switch {
	case f.file != nil:
		f.file.read(n)
	case f.part != nil:
		f.part.make(n, h)
	}
	return h
}

// Events are those of the log that was indexed, which share its memory.
func (f *Frozen) Events() *event.Log { return &f.log }

// NumNodes is 1 + the largest node id that occurs.
func (f *Frozen) NumNodes() int { return len(f.start) - 1 }

// Bytes is the memory that the index holds, mapped pages of a file included.
func (f *Frozen) Bytes() int {
	return int(unsafe.Sizeof(*f)) + 4*cap(f.start) + 8*cap(f.words)
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
