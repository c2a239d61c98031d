package walkmamba

import (
	"cmp"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/walk"
	"github.com/dygmamba/dygmamba/sample"
)

// finder is what is known of the nodes of a batch while its table is made.
//
// States are gone through once, in order of time, by one goroutine; all else is done on all threads. The queries are
// looked at twice. First every position finds which state of its node it sees, without the vectors: that follows from
// who takes part in the events between the first query and the last. Then these states, and no others, are copied while
// the past goes on, each once; and positions are told the rows.
type finder struct {
	order []int32 // queries by time
	part  []int32 // those that are worked on: few events lie between them
	past  *walk.Past
	state *walk.State
	*sample.Gathering
	tasks struct{ see, look, copyFresh, tell func(thread, i int) }
	each  []*walker // [threads]

	near  []nearNode           // by node id: as of the first query of the part
	more  []version            // states that nodes take on within the part, in order; then nodes beyond near
	later int                  // how many are of the former
	far   map[event.Node]int32 // where nodes beyond near stand
	seen  []int32              // nodes of near that are seen, ascending
	work  []int32              // for sorting them
	looks []look               // [seen] what is known of them
	doing []walk.Activity      // [n] of the queries' nodes
	after []walk.NextItem      // [n]
	round int32                // of the part
	since int32                // where the window of its states begins
	first int32                // of the first part of the batch
}

// nearNode is a node as of the first query of a part.
type nearNode struct {
	seen  int32 // the last round in which a position saw it
	filed int32 // the round since which the rest is true
	row   int32
	part  int32      // of the window
	at    event.Time // of the state in that row
}

// look is a node of near that is seen, as of the first query of the part.
type look struct {
	from  []float32  // its row in the state; nil: it has none
	at    event.Time // of that row
	row   int32      // in the table
	part  int32      // of the window
	fresh bool       // the row is to be copied
}

// version is a node after one of its events.
type version struct {
	state
	row  int32
	seen int32 // 1 if any position sees it
}

// mostBetween is the number of events that queries of one part may have between them at most.
const mostBetween = 1 << 12

// Gather finds what the model asks of walks.
func (d *found) Gather(g *sample.Gathering) {
	d.Gathering = g
	d.reset()
	n := len(g.Batch.Queries)
	if d.start(n); n == 0 {
		return
	}
	qs := g.Batch.Queries
	k := d.extra.take(g.Past, qs[d.order[0]].Time, qs[d.order[n-1]].Time)
	defer d.extra.states.give(k)
	d.past = k.past
	d.past.Threads = g.Threads
	for lo := 0; lo < n; {
		hi := d.partEnd(lo)
		d.part = d.order[lo:hi]
		d.gatherPart()
		lo = hi
	}
	d.past, d.state, d.Gathering = nil, nil, nil
	d.Past = k.number<<32 | uint64(uint32(k.past.Changes()))
}

// start makes room, and puts the queries in order of time.
func (d *found) start(n int) {
	ask, b := d.extra, d.Batch
	for len(d.each) < d.Threads {
		d.each = append(d.each, new(walker))
	}
	d.order, d.doing, d.after = resize(d.order, n), resize(d.doing, n), resize(d.after, n)
	for i := range d.order {
		d.order[i] = int32(i)
	}
	slices.SortStableFunc(d.order, func(i, j int32) int { return cmp.Compare(b.Queries[i].Time, b.Queries[j].Time) })
	d.first = d.round + 1
	if ask.nodes || ask.neighbors {
		d.Width = ask.options.Width()
		d.Src, d.Dst, d.SrcAge, d.DstAge = resize(d.Src, n), resize(d.Dst, n), resize(d.SrcAge, n), resize(d.DstAge, n)
	}
	if ask.roles {
		d.Roles = resize(d.Roles, n*walk.Roles)
	}
	if ask.nextItem {
		d.NextItems, d.Next = resize(d.NextItems, n*walk.NextItems), resize(d.Next, n)
	}
	for len(d.Rows) < len(b.Rows) {
		d.Rows = append(d.Rows, rows{})
	}
	for k := range b.Rows {
		r, size := &d.Rows[k], len(b.Rows[k].Node)
		if ask.neighbors {
			r.Walk, r.Age = resize(r.Walk, size), resize(r.Age, size)
		}
		if ask.direction {
			r.Way = resize(r.Way, size)
		}
	}
}

// partEnd is where the part ends that begins with query lo in order: usually at the end.
func (d *found) partEnd(lo int) int {
	n := len(d.Batch.Queries)
	time := func(i int) event.Time { return d.Batch.Queries[d.order[i]].Time }
	known := d.past.Count(time(lo))
	fits := func(i int) bool {
		count := d.past.Count(time(i))
		return count-known <= mostBetween && d.past.Segment(count) == d.past.Segment(known)
	}
	if d.extra.batch || fits(n-1) {
		return n
	}
	hi := lo + 1
	for hi < n && fits(hi) {
		hi++
	}
	return hi
}

// gatherPart does the queries of a part.
func (d *found) gatherPart() {
	qs := d.Batch.Queries
	begin, end := qs[d.part[0]].Time, qs[d.part[len(d.part)-1]].Time
	if d.extra.batch {
		end = begin
	}
	known := d.past.Count(begin)
	if d.since = int32(d.past.Segment(known)); d.extra.sizes {
		d.state = walk.NewState(d.extra.options)
	} else {
		d.state = d.past.At(begin)
	}
	d.foresee(known, d.past.Count(end))
	if d.Width > 0 {
		d.Parallel(len(d.part), d.tasks.see)
		d.collect()
		d.Parallel(len(d.seen), d.tasks.look)
		d.file()
		d.Parallel(len(d.seen), d.tasks.copyFresh)
	}
	d.goOn()
	d.Parallel(len(d.part), d.tasks.tell)
	for _, v := range d.more[:d.later] { // as of the first query of the next part
		if v.seen != 0 {
			p := &d.near[v.Node]
			p.row, p.at, p.filed, p.part = v.row, v.At, d.round, d.since
		}
	}
}

// foresee lists the states that nodes take on by events lo to hi−1, and the queries' nodes that nobody knows.
func (d *found) foresee(lo, hi int) {
	if d.round++; d.round < 0 {
		clear(d.near)
		d.round, d.first = 1, 1
	}
	nodes := d.Gathering.Past.NumNodes()
	d.more = d.more[:0]
	for k := lo; k < hi; k++ {
		src, dst, t := d.past.Meeting(k)
		d.more = append(d.more, version{state: state{src, d.since, t}})
		if dst != src {
			d.more = append(d.more, version{state: state{dst, d.since, t}})
		}
		nodes = max(nodes, int(src)+1, int(dst)+1)
	}
	d.later = len(d.more)
	if more := nodes - len(d.near); more > 0 {
		d.near = append(d.near, make([]nearNode, more)...)
	}
	clear(d.far)
	for _, i := range d.part {
		q := &d.Batch.Queries[i]
		d.addFar(q.Src)
		d.addFar(q.Dst)
	}
}

func (s *finder) addFar(n event.Node) {
	if n >= 0 && int(n) < len(s.near) {
		return
	}
	if s.far == nil {
		s.far = map[event.Node]int32{}
	}
	if _, there := s.far[n]; !there {
		s.far[n] = int32(len(s.near) + len(s.more))
		s.more = append(s.more, version{state: state{n, 0, math.Inf(-1)}})
	}
}

// collect lists what is seen, in an order that does not depend on threads.
func (d *found) collect() {
	d.seen = d.seen[:0]
	for _, k := range d.each {
		d.seen = append(d.seen, k.found...)
		k.found = k.found[:0]
	}
	d.seen, d.work = sortNodes(d.seen, d.work)
	d.looks = resize(d.looks, len(d.seen))
}

// look finds a node's row as of the first query of the part, and whether the table has it already.
func (d *found) look(_, j int) {
	n := d.seen[j]
	p, l := &d.near[n], &d.looks[j]
	*l = look{at: math.Inf(-1)}
	if row, since := d.state.Row(n); row != nil {
		l.from, l.at, l.part = row, since, d.since
	}
	l.fresh = p.filed < d.first || p.at != l.at || p.part != l.part
}

// file gives rows of the table to what is seen, and fills those of nodes that nobody knows.
func (d *found) file() {
	for j := range d.looks {
		if l := &d.looks[j]; l.fresh {
			l.row = d.add(state{d.seen[j], l.part, l.at})
		}
	}
	for i := range d.more {
		if v := &d.more[i]; v.seen != 0 {
			v.row = d.add(v.state)
		}
	}
	full := len(d.Of) * d.Width
	d.Table = slices.Grow(d.Table, full-len(d.Table))[:full]
	for i := d.later; i < len(d.more); i++ {
		if v := &d.more[i]; v.seen != 0 {
			d.state.Begin(v.Node, d.row(v.row))
		}
	}
}

// add gives a state a row.
func (d *found) add(s state) int32 {
	d.Of = append(d.Of, s)
	return int32(len(d.Of) - 1)
}

func (d *found) row(i int32) []float32 { return d.Table[int(i)*d.Width:][:d.Width] }

// copyFresh copies a node as of the first query of the part.
func (d *found) copyFresh(_, j int) {
	n, l := d.seen[j], &d.looks[j]
	if !l.fresh {
		return
	}
	p := &d.near[n]
	p.row, p.at, p.filed, p.part = l.row, l.at, d.round, l.part
	if to := d.row(l.row); l.from == nil {
		d.state.Begin(n, to)
	} else {
		copy(to, l.from)
	}
}

// goOn lets the past go on to the last query, and keeps what is seen on the way.
func (d *found) goOn() {
	next := 0
	for _, i := range d.part {
		q := &d.Batch.Queries[i]
		for next < d.later && d.more[next].At < q.Time {
			if !d.extra.sizes {
				d.past.Step()
			}
			for t := d.more[next].At; next < d.later && d.more[next].At == t; next++ {
				if v := &d.more[next]; v.seen != 0 {
					d.state.CopyRow(v.Node, d.row(v.row))
				}
			}
		}
		if d.extra.roles {
			d.state.ReadActivity(q.Src, q.Dst, &d.doing[i])
		}
		if d.extra.nextItem {
			d.state.ReadNextItem(q.Src, q.Dst, q.Time, &d.after[i])
			d.Next[i].After = d.state.Latest(q.Src)
		}
	}
	if d.extra.sizes {
		d.state.Run(1)
	}
	d.past.Run()
}
