package sample

import (
	"sort"

	"github.com/dygmamba/dygmamba/event"
)

// Timeline tells which row of a table describes a node as of a time, where what is known of nodes changes. Rows are
// numbered from 1 on; row 0 is that of a node of which nothing is known yet. A nil *Timeline numbers rows by node.
//
// Any number of goroutines may use it.
type Timeline struct {
	start []int32 // of each node: where its rows begin; one more for the end
	time  []event.Time
	row   []int32
}

// NewTimeline takes the node and the time of rows 1, 2, …, in the order of time.
func NewTimeline(node []event.Node, time []event.Time) *Timeline {
	last := event.Node(0)
	for _, n := range node {
		last = max(last, n)
	}
	t := &Timeline{start: make([]int32, int(last)+2), time: make([]event.Time, len(node)),
		row: make([]int32, len(node))}
	for _, n := range node {
		t.start[n+1]++
	}
	for n := range t.start[1:] {
		t.start[n+1] += t.start[n]
	}
	next := append([]int32(nil), t.start...)
	for i, n := range node {
		t.time[next[n]], t.row[next[n]] = time[i], int32(i+1)
		next[n]++
	}
	return t
}

// Row is that of a node as of a time: its latest row strictly before, 0 if there is none.
func (t *Timeline) Row(n event.Node, at event.Time) int32 {
	if t == nil {
		return n
	}
	if n < 0 || int(n)+1 >= len(t.start) {
		return 0
	}
	lo, hi := int(t.start[n]), int(t.start[n+1])
	if k := sort.Search(hi-lo, func(i int) bool { return t.time[lo+i] >= at }); k > 0 {
		return t.row[lo+k-1]
	}
	return 0
}

// Described are the rows of a table that describe the nodes of all positions: their ids, unless what is known of nodes
// changes over time.
func (r *Rows) Described() []int32 {
	if len(r.State) > 0 {
		return r.State
	}
	return r.Node
}

// AppendDescribed appends the rows of a table that describe the sources, or the destinations, of the first n queries.
func (b *Batch) AppendDescribed(list []int32, of Root, n int) []int32 {
	for i := range n {
		switch {
		case len(b.States[of]) > 0:
			list = append(list, b.States[of][i])
		default:
			list = append(list, of.Node(b.Queries[i]))
		}
	}
	return list
}

// states finds the row that describes each node of the batch as of the time of its query.
func (w *work) states() {
	b := w.batch
	for _, of := range []Root{Src, Dst} {
		b.States[of] = b.States[of][:0]
	}
	for d := range b.Rows {
		b.Rows[d].State = b.Rows[d].State[:0]
	}
	if w.plan.Timeline == nil {
		return
	}
	n := len(b.Queries)
	for _, of := range []Root{Src, Dst} {
		b.States[of] = resize(b.States[of], n)
	}
	for d := range b.Rows {
		b.Rows[d].State = resize(b.Rows[d].State, len(b.Rows[d].Node))
	}
	w.parallel(n, (*worker).findStates)
}

// findStates does that for query i: whoever is near it is described as of its time, also whom it met long before.
func (k *worker) findStates(i int) {
	b, t := k.work.batch, k.work.plan.Timeline
	q := b.Queries[i]
	b.States[Src][i], b.States[Dst][i] = t.Row(q.Src, q.Time), t.Row(q.Dst, q.Time)
	for d := range b.Rows {
		r := &b.Rows[d]
		each := len(r.Node) / len(b.Queries)
		for j := i * each; j < (i+1)*each; j++ {
			r.State[j] = 0
			if n := r.Node[j]; n > 0 {
				r.State[j] = t.Row(n, q.Time)
			}
		}
	}
}
