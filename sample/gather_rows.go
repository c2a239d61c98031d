package sample

import (
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// drawn is what is known about a draw before and while its rows are written.
type drawn struct {
	draw    Draw
	rows    int
	most    int             // neighbours that a row can hold
	past    []index.History // [rows] everything before the root's time
	used    []int32         // [rows] how many neighbours go into the row
	picks   []int32         // [rows, most] which ones, if a Picker chose: positions into past
	numbers []float64       // [rows, most] drawn for a chooser
	times   []event.Time    // [rows, Len] as hops that go on from here take them; empty if none does
	goes    bool            // a hop goes on from here
	own     []index.History // the memory of past, where it is not that of the queries' nodes
}

func (s *drawn) isRoot() bool { return s.draw.Of < hops }

// root is the node and the time that a row of a draw is about.
func (w *work) root(d, row int) (event.Node, event.Time) {
	switch of := w.draws[d].draw.Of; of {
	case Src:
		return w.batch.Queries[row].Src, w.batch.Queries[row].Time
	case Dst:
		return w.batch.Queries[row].Dst, w.batch.Queries[row].Time
	default:
		return w.batch.Rows[of-hops].Node[row], w.draws[of-hops].times[row]
	}
}

// resize makes room for all rows of a draw, in the length that it asks for or that the longest row needs.
func (w *work) resize(d int, used []int32) {
	s, r := &w.draws[d], &w.batch.Rows[d]
	r.Len = max(0, s.draw.RowLen)
	if r.Len == 0 && len(used) > 0 {
		r.Len = s.draw.rounded(int(slices.Max(used)) + s.draw.targets())
	}
	if !s.isRoot() {
		from := s.draw.Of - hops
		s.rows = w.draws[from].rows * w.batch.Rows[from].Len
		s.own, s.used = resize(s.own, s.rows), resize(s.used, s.rows)
		s.past = s.own
	}
	n := r.Len * s.rows
	r.Node, r.Edge = resize(r.Node, n), resize(r.Edge, n)
	r.Time, r.Delta = resize(r.Time, n), resize(r.Delta, n)
	r.Count, r.Slot = r.Count[:0], r.Slot[:0]
	if w.plan.Counts != NoCounts && (d == w.counted[0] || d == w.counted[1]) {
		r.Count = resize(r.Count, 2*n)
	}
	s.times = s.times[:0]
	if s.goes {
		s.times = resize(s.times, n)
	}
}

// AtMost is the plan with rows of a fixed length: the longest that any batch can ask for.
func (p Plan) AtMost() Plan {
	draws := make([]Draw, len(p.Draws))
	for i, d := range p.Draws {
		d.RowLen = d.longest()
		draws[i] = d
	}
	p.Draws = draws
	return p
}

// Bytes is about what a batch takes at most.
func (p *Plan) Bytes(queries int) float64 {
	total := 0.0
	each := make([]float64, len(p.Draws)) // positions for each query
	for i, d := range p.Draws {
		each[i] = float64(d.longest())
		if d.Of >= hops && int(d.Of-hops) < i {
			each[i] *= each[d.Of-hops]
		}
		position := 16.0 // Node, Edge, Time, Delta
		if p.Counts != NoCounts {
			position += 8
		}
		if p.Timeline != nil {
			position += 4
		}
		total += float64(queries) * each[i] * position
	}
	for _, e := range p.Extras {
		total += float64(queries) * e.Bytes(each)
	}
	return total
}

// Longest is the length that the plan's longest rows can have.
func (p *Plan) Longest() int {
	n := 0
	for _, d := range p.Draws {
		n = max(n, d.longest())
	}
	return n
}

// longest is the length that a row has at most.
func (d *Draw) longest() int {
	if d.RowLen > 0 {
		return d.RowLen
	}
	return d.rounded(max(0, d.Neighbors) + d.targets())
}

// rounded is n rounded up to a multiple that rows have.
func (d *Draw) rounded(n int) int {
	step := max(1, d.RowMultiple)
	return (n + step - 1) / step * step
}

// targets is the number of positions that a row's own node takes.
func (d *Draw) targets() int {
	if d.Target == NoTarget {
		return 0
	}
	return 1
}

// layout is where the first of used neighbours and the root's own node stand in a row; target is −1 if the latter does
// not.
func (d *Draw) layout(rowLen, used int) (first, target int) {
	first = rowLen - used
	if d.PadRight {
		first = 0
	}
	switch d.Target {
	case TargetFirst:
		if d.PadRight {
			first = 1
		}
		return first, 0
	case TargetLast:
		if !d.PadRight {
			first--
		}
		return first, first + used
	}
	return first, -1
}

// fill writes row i of a draw: the chosen part of n's past before t, n itself, and padding.
func (w *work) fill(d, i int, n event.Node, t event.Time) {
	s, r := &w.draws[d], &w.batch.Rows[d]
	lo, hi := i*r.Len, (i+1)*r.Len
	node, edge, time, delta := r.Node[lo:hi], r.Edge[lo:hi], r.Time[lo:hi], r.Delta[lo:hi]
	clear(node)
	clear(edge)
	clear(time)
	used := int(s.used[i])
	first, target := s.draw.layout(r.Len, used)
	picked := w.plan.Picker != nil
	if !picked {
		h := s.past[i].Last(used)
		copy(node[first:], h.Node)
		copy(edge[first:], h.Edge)
		for j, at := range h.Time {
			time[first+j] = float32(at)
		}
	} else {
		h := s.past[i]
		for j, k := range s.picks[i*s.most:][:used] {
			node[first+j], edge[first+j], time[first+j] = h.Node[k], h.Edge[k], float32(h.Time[k])
		}
	}
	if target >= 0 {
		node[target], time[target] = n, float32(t)
	}
	for j, at := range time {
		delta[j] = float32(t - float64(at))
	}
	if w.plan.ExactTimes {
		s.exact(delta[first:first+used], i, t, picked)
		if target >= 0 {
			delta[target] = 0
		}
	}
	if s.goes {
		s.keepTimes(s.times[lo:hi], time, i, first, target, t, w.plan.ExactTimes, picked)
	}
	if w.plan.LogTimes > 0 {
		clear(delta[:first])
		clear(delta[first+used:]) // the row's own node too: now is 0
		Logs(delta[first:first+used], w.plan.LogTimes)
	}
}

// keepTimes notes at which times hops go on from row i.
func (s *drawn) keepTimes(to []event.Time, rounded []float32, i, first, target int, t event.Time, exact, picked bool) {
	for j, at := range rounded {
		to[j] = float64(at)
	}
	if !exact {
		return
	}
	used := int(s.used[i])
	if picked {
		for j, k := range s.picks[i*s.most:][:used] {
			to[first+j] = s.past[i].Time[k]
		}
	} else {
		copy(to[first:], s.past[i].Last(used).Time)
	}
	if target >= 0 {
		to[target] = t
	}
}

// exact writes how long before t each chosen neighbour of row i was met.
func (s *drawn) exact(delta []float32, i int, t event.Time, picked bool) {
	if !picked {
		for j, at := range s.past[i].Last(len(delta)).Time {
			delta[j] = float32(t - at)
		}
		return
	}
	for j, k := range s.picks[i*s.most:][:len(delta)] {
		delta[j] = float32(t - s.past[i].Time[k])
	}
}

// copy makes row i the same as row j.
func (r *Rows) copy(i, j int) {
	to, from := i*r.Len, j*r.Len
	copy(r.Node[to:to+r.Len], r.Node[from:])
	copy(r.Edge[to:to+r.Len], r.Edge[from:])
	copy(r.Delta[to:to+r.Len], r.Delta[from:])
	copy(r.Time[to:to+r.Len], r.Time[from:])
}

func (s *drawn) copyTimes(i, j, length int) {
	if s.goes {
		copy(s.times[i*length:(i+1)*length], s.times[j*length:])
	}
}

// resize is s with n elements of any value.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
