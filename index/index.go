// Package index answers: what had this node done before t?
package index

import "github.com/dygmamba/dygmamba/event"

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
