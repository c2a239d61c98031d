package sample

import (
	"cmp"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/walk"
)

// walks is what is known of the nodes of a batch while its table is made.
//
// States are gone through once, in order of time, by one goroutine; all else is done on all threads. The queries are
// looked at twice. First every position finds which state of its node it sees, without the vectors: that follows from
// who takes part in the events between the first query and the last. Then these states, and no others, are copied while
// the past goes on, each once; and positions are told the rows.
type walks struct {
	order []int32 // queries by time
	part  []int32 // those that are worked on: few events lie between them
	past  *walk.Past
	state *walk.State

	near  []place              // by node id: as of the first query of the part
	more  []version            // states that nodes take on within the part, in order; then nodes beyond near
	later int                  // how many are of the former
	far   map[event.Node]int32 // where nodes beyond near stand
	seen  []int32              // nodes of near that are seen, ascending
	fresh []int32              // those whose rows are to be copied
	doing []walk.Activity      // [n] of the queries' nodes
	after []walk.Sequel        // [n]
	round int32                // of the part
	first int32                // of the first part of the batch
}

// place is a node as of the first query of a part.
type place struct {
	seen  int32 // the last round in which a position saw it
	filed int32 // the round since which the rest is true
	row   int32
	at    event.Time // of the state in that row
}

// version is a node after one of its events.
type version struct {
	State
	row  int32
	seen int32 // 1 if any position sees it
}

// mostBetween is the number of events that queries of one part may have between them at most.
const mostBetween = 1 << 12

// walk finds what the plan asks of walks.
func (w *work) walk() {
	ask, b, s := w.plan.Walks, w.batch, &w.walks
	ask.mu.Lock()
	defer ask.mu.Unlock()
	n, d := len(b.Queries), &b.Walks
	k := ask.over(w.past)
	s.past = k.past
	w.startWalks(n)
	pairs := w.pairs
	w.pairs = 0 // in order of time
	for lo := 0; lo < n; {
		hi := w.partEnd(lo)
		s.part = s.order[lo:hi]
		w.walkPart()
		lo = hi
	}
	w.pairs = pairs
	s.past, s.state = nil, nil
	d.Past = k.number<<32 | uint64(uint32(k.past.Changes()))
}

// startWalks makes room, and puts the queries in order of time.
func (w *work) startWalks(n int) {
	s, ask, b, d := &w.walks, w.plan.Walks, w.batch, &w.batch.Walks
	s.order, s.doing, s.after = resize(s.order, n), resize(s.doing, n), resize(s.after, n)
	for i := range s.order {
		s.order[i] = int32(i)
	}
	slices.SortStableFunc(s.order, func(i, j int32) int { return cmp.Compare(b.Queries[i].Time, b.Queries[j].Time) })
	s.first = s.round + 1
	if ask.Nodes || ask.Neighbors {
		d.Width = ask.Options.Width()
		d.Src, d.Dst, d.SrcAge, d.DstAge = resize(d.Src, n), resize(d.Dst, n), resize(d.SrcAge, n), resize(d.DstAge, n)
	}
	if ask.Roles {
		d.Roles = resize(d.Roles, n*walk.Roles)
	}
	if ask.Sequels {
		d.Sequels, d.Next = resize(d.Sequels, n*walk.Sequels), resize(d.Next, n)
	}
	for k := range w.draws {
		r := &b.Rows[k]
		if !w.draws[k].isRoot() {
			continue
		}
		if ask.Neighbors {
			r.Walk, r.Age = resize(r.Walk, len(r.Node)), resize(r.Age, len(r.Node))
		}
		if ask.Direction {
			r.Way = resize(r.Way, len(r.Node))
		}
	}
}

// partEnd is where the part ends that begins with query lo in order: usually at the end.
func (w *work) partEnd(lo int) int {
	s, n := &w.walks, len(w.batch.Queries)
	time := func(i int) event.Time { return w.batch.Queries[s.order[i]].Time }
	known := s.past.Count(time(lo))
	if w.plan.Walks.Batch || s.past.Count(time(n-1))-known <= mostBetween {
		return n
	}
	hi := lo + 1
	for hi < n && s.past.Count(time(hi))-known <= mostBetween {
		hi++
	}
	return hi
}

// walkPart does the queries of a part.
func (w *work) walkPart() {
	s, qs := &w.walks, w.batch.Queries
	begin, end := qs[s.part[0]].Time, qs[s.part[len(s.part)-1]].Time
	if w.plan.Walks.Batch {
		end = begin
	}
	s.state = s.past.At(begin)
	w.foresee(s.past.Count(begin), s.past.Count(end))
	if w.batch.Walks.Width > 0 {
		w.parallel(len(s.part), (*worker).see)
		w.file()
		w.parallel(len(s.fresh), (*worker).copyFresh)
	}
	w.goOn()
	w.parallel(len(s.part), (*worker).tell)
	for _, v := range s.more[:s.later] { // as of the first query of the next part
		if v.seen != 0 {
			s.near[v.Node].row, s.near[v.Node].at, s.near[v.Node].filed = v.row, v.At, s.round
		}
	}
}

// foresee lists the states that nodes take on by events lo to hi−1, and the queries' nodes that nobody knows.
func (w *work) foresee(lo, hi int) {
	s := &w.walks
	if s.round++; s.round < 0 {
		clear(s.near)
		s.round, s.first = 1, 1
	}
	nodes := w.past.NumNodes()
	s.more = s.more[:0]
	for k := lo; k < hi; k++ {
		src, dst, t := s.past.Meeting(k)
		s.more = append(s.more, version{State: State{src, t}})
		if dst != src {
			s.more = append(s.more, version{State: State{dst, t}})
		}
		nodes = max(nodes, int(src)+1, int(dst)+1)
	}
	s.later = len(s.more)
	if more := nodes - len(s.near); more > 0 {
		s.near = append(s.near, make([]place, more)...)
	}
	clear(s.far)
	for _, i := range s.part {
		q := &w.batch.Queries[i]
		s.addFar(q.Src)
		s.addFar(q.Dst)
	}
}

func (s *walks) addFar(n event.Node) {
	if n >= 0 && int(n) < len(s.near) {
		return
	}
	if s.far == nil {
		s.far = map[event.Node]int32{}
	}
	if _, there := s.far[n]; !there {
		s.far[n] = int32(len(s.near) + len(s.more))
		s.more = append(s.more, version{State: State{n, math.Inf(-1)}})
	}
}

// file gives rows of the table to what is seen, in an order that does not depend on threads, and fills those of nodes
// without events.
func (w *work) file() {
	s, d := &w.walks, &w.batch.Walks
	s.seen, s.fresh = s.seen[:0], s.fresh[:0]
	for _, k := range w.workers {
		s.seen = append(s.seen, k.walker.found...)
		k.walker.found = k.walker.found[:0]
	}
	slices.Sort(s.seen)
	for _, n := range s.seen {
		at, p := math.Inf(-1), &s.near[n]
		row, since := s.state.Row(n)
		if row != nil {
			at = since
		}
		if p.filed >= s.first && p.at == at {
			continue
		}
		p.row, p.at, p.filed = d.add(State{n, at}), at, s.round
		s.fresh = append(s.fresh, n)
	}
	for i := range s.more {
		if v := &s.more[i]; v.seen != 0 {
			v.row = d.add(v.State)
		}
	}
	full := len(d.Of) * d.Width
	d.Table = slices.Grow(d.Table, full-len(d.Table))[:full]
	for i := s.later; i < len(s.more); i++ {
		if v := &s.more[i]; v.seen != 0 {
			s.state.Begin(v.Node, d.row(v.row))
		}
	}
	known := s.fresh[:0]
	for _, n := range s.fresh {
		if p := &s.near[n]; math.IsInf(p.at, -1) {
			s.state.Begin(n, d.row(p.row))
		} else {
			known = append(known, n)
		}
	}
	s.fresh = known
}

// add gives a state a row.
func (d *Walked) add(s State) int32 {
	d.Of = append(d.Of, s)
	return int32(len(d.Of) - 1)
}

func (d *Walked) row(i int32) []float32 { return d.Table[int(i)*d.Width:][:d.Width] }

// copyFresh copies a node as of the first query of the part.
func (k *worker) copyFresh(j int) {
	s, d := &k.work.walks, &k.work.batch.Walks
	n := s.fresh[j]
	row, _ := s.state.Row(n)
	copy(d.row(s.near[n].row), row)
}

// goOn lets the past go on to the last query, and keeps what is seen on the way.
func (w *work) goOn() {
	s, d := &w.walks, &w.batch.Walks
	next := 0
	for _, i := range s.part {
		q := &w.batch.Queries[i]
		for next < s.later && s.more[next].At < q.Time {
			s.past.Step()
			for t := s.more[next].At; next < s.later && s.more[next].At == t; next++ {
				if v := &s.more[next]; v.seen != 0 {
					row, _ := s.state.Row(v.Node)
					copy(d.row(v.row), row)
				}
			}
		}
		if w.plan.Walks.Roles {
			s.doing[i] = s.state.Activity(q.Src, q.Dst)
		}
		if w.plan.Walks.Sequels {
			s.after[i] = s.state.Sequel(q.Src, q.Dst, q.Time)
			d.Next[i].After = s.state.Latest(q.Src)
			d.Next[i].Last, d.Next[i].Both = s.after[i].Counts()
		}
	}
}
