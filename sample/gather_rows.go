package sample

import (
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// side is what is known about one side of the queries before its rows are written.
type side struct {
	past  []index.History // [n] everything before the query
	used  []int32         // [n] how many neighbours go into the row
	picks []int32         // [n, most] which ones, if a Picker chose: positions into past
}

// pick chooses for row i.
func (s *side) pick(i int, n event.Node, most int, by Picker) {
	s.used[i] = 0
	if h := s.past[i]; h.Len() > 0 {
		s.used[i] = int32(by.Pick(n, h, s.picks[i*most:(i+1)*most]))
	}
}

// resize makes room for all rows, in the length the plan asks for.
func (r *Rows) resize(s *side, p Plan) {
	r.Len = max(0, p.RowLen)
	if r.Len == 0 && len(s.used) > 0 {
		r.Len = int(slices.Max(s.used)) + p.targets()
		step := max(1, p.RowMultiple)
		r.Len = (r.Len + step - 1) / step * step
	}
	n := r.Len * len(s.used)
	r.Node, r.Edge = resize(r.Node, n), resize(r.Edge, n)
	r.Time, r.Delta = resize(r.Time, n), resize(r.Delta, n)
	r.Count = r.Count[:0]
	if p.Counts != NoCounts {
		r.Count = resize(r.Count, 2*n)
	}
}

// Bytes is about what the rows of a batch take, 0 where their length depends on the batch.
func (p *Plan) Bytes(queries int) float64 {
	position := 16.0 // Node, Edge, Time, Delta
	if p.Counts != NoCounts {
		position += 8
	}
	return 2 * float64(queries) * float64(max(0, p.RowLen)) * position
}

// targets is the number of positions that a row's own node takes.
func (p *Plan) targets() int {
	if p.Target == NoTarget {
		return 0
	}
	return 1
}

// layout is where the first of used neighbours and the query's own node stand in a row; target is −1 if the latter does not.
func (p *Plan) layout(rowLen, used int) (first, target int) {
	first = rowLen - used
	if p.PadRight {
		first = 0
	}
	switch p.Target {
	case TargetFirst:
		if p.PadRight {
			first = 1
		}
		return first, 0
	case TargetLast:
		if !p.PadRight {
			first--
		}
		return first, first + used
	}
	return first, -1
}

// fill writes row i: the chosen part of n's past before t, n itself, and padding.
func (r *Rows) fill(i int, n event.Node, t event.Time, s *side, p *Plan) {
	lo, hi := i*r.Len, (i+1)*r.Len
	node, edge, time, delta := r.Node[lo:hi], r.Edge[lo:hi], r.Time[lo:hi], r.Delta[lo:hi]
	clear(node)
	clear(edge)
	clear(time)
	used := int(s.used[i])
	first, target := p.layout(r.Len, used)
	if p.Picker == nil {
		h := s.past[i].Last(used)
		copy(node[first:], h.Node)
		copy(edge[first:], h.Edge)
		for j, at := range h.Time {
			time[first+j] = float32(at)
		}
	} else {
		h, most := s.past[i], len(s.picks)/len(s.used)
		for j, k := range s.picks[i*most:][:used] {
			node[first+j], edge[first+j], time[first+j] = h.Node[k], h.Edge[k], float32(h.Time[k])
		}
	}
	if target >= 0 {
		node[target], time[target] = n, float32(t)
	}
	for j, at := range time {
		delta[j] = float32(t - float64(at))
	}
	if p.ExactTimes {
		s.exact(delta[first:first+used], i, t, p.Picker != nil)
		if target >= 0 {
			delta[target] = 0
		}
	}
}

// exact writes how long before t each chosen neighbour of row i was met.
func (s *side) exact(delta []float32, i int, t event.Time, picked bool) {
	if !picked {
		for j, at := range s.past[i].Last(len(delta)).Time {
			delta[j] = float32(t - at)
		}
		return
	}
	most := len(s.picks) / len(s.used)
	for j, k := range s.picks[i*most:][:len(delta)] {
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

// resize is s with n elements of any value.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
