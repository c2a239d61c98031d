package walkmamba

import (
	"math"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/walk"
)

// walker is what one thread knows of the walks.
type walker struct {
	sees   []int32 // by node id: what a query now sees of it, a node of near or len(near) + one of more
	moved  []int32 // where that is not the node itself
	passed int     // versions that have come
	round  int32
	found  []int32 // nodes of near that this thread was the first to see
}

// see finds which states the positions of a query's rows see, and the query itself.
func (d *found) see(thread, j int) {
	k, i := d.each[thread], int(d.part[j])
	q := &d.Batch.Queries[i]
	k.catchUp(&d.finder, q.Time)
	d.Src[i], d.Dst[i] = k.see(&d.finder, q.Src), k.see(&d.finder, q.Dst)
	if !d.extra.neighbors {
		return
	}
	for draw := range d.Batch.Rows {
		r := &d.Batch.Rows[draw]
		rows := d.Rows[draw].Walk[i*r.Len : (i+1)*r.Len]
		for at, n := range r.Node[i*r.Len : (i+1)*r.Len] {
			rows[at] = -1
			if n != 0 {
				rows[at] = k.see(&d.finder, n)
			}
		}
	}
}

// catchUp lets what happened before t be seen.
func (k *walker) catchUp(s *finder, t event.Time) {
	if k.round != s.round {
		for _, n := range k.moved {
			k.sees[n] = n
		}
		for n := len(k.sees); n < len(s.near); n++ {
			k.sees = append(k.sees, int32(n))
		}
		k.moved, k.passed, k.round = k.moved[:0], 0, s.round
	}
	for ; k.passed < s.later && s.more[k.passed].At < t; k.passed++ {
		n := s.more[k.passed].Node
		k.sees[n] = int32(len(s.near) + k.passed)
		k.moved = append(k.moved, n)
	}
}

// see is what is seen of a node.
func (k *walker) see(s *finder, n event.Node) int32 {
	if n < 0 || int(n) >= len(s.near) {
		at := s.far[n]
		atomic.StoreInt32(&s.more[int(at)-len(s.near)].seen, 1)
		return at
	}
	at := k.sees[n]
	if v := int(at) - len(s.near); v >= 0 {
		if seen := &s.more[v].seen; atomic.LoadInt32(seen) == 0 {
			atomic.StoreInt32(seen, 1)
		}
		return at
	}
	if p := &s.near[n]; atomic.LoadInt32(&p.seen) != s.round && atomic.SwapInt32(&p.seen, s.round) != s.round {
		k.found = append(k.found, n)
	}
	return at
}

// tell tells the positions of a query's rows, and the query itself, where in the table they stand, how old that is,
// which way events went, and what its nodes are up to.
func (d *found) tell(_, j int) {
	ask, b, i := d.extra, d.Batch, int(d.part[j])
	q := b.Queries[i]
	if d.Width > 0 {
		d.Src[i], d.SrcAge[i] = d.told(d.Src[i], q.Time)
		d.Dst[i], d.DstAge[i] = d.told(d.Dst[i], q.Time)
	}
	if ask.roles {
		ask.options.Roles(&d.doing[i], q.Time, d.Roles[i*walk.Roles:])
	}
	if ask.nextItem {
		d.Next[i].Last, d.Next[i].Both = d.after[i].Counts()
		ask.options.NextItems(&d.after[i], q.Time, d.NextItems[i*walk.NextItems:])
	}
	for draw := range b.Rows {
		r := &b.Rows[draw]
		lo, hi := i*r.Len, (i+1)*r.Len
		if ask.neighbors {
			rows, ages := d.Rows[draw].Walk[lo:hi], d.Rows[draw].Age[lo:hi]
			for at, id := range rows {
				ages[at] = 0
				if id >= 0 {
					rows[at], ages[at] = d.told(id, q.Time)
				}
			}
		}
		if ask.direction {
			n := d.Plan.Draws[draw].Of.Node(q)
			ways := d.Rows[draw].Way[lo:hi]
			for at, e := range r.Edge[lo:hi] {
				ways[at] = d.way(n, e)
			}
		}
	}
}

// told is the row of what is seen, and its age at t.
func (s *finder) told(id int32, t event.Time) (row int32, age float32) {
	at := event.Time(0)
	if v := int(id) - len(s.near); v >= 0 {
		row, at = s.more[v].row, s.more[v].At
	} else {
		row, at = s.near[id].row, s.near[id].at
	}
	if at == math.Inf(-1) {
		return row, 0
	}
	return row, float32(t - at)
}

// way is 1 for an event that the node was the source of, −1 for another, and 0 for none.
func (s *finder) way(n event.Node, e event.Edge) float32 {
	switch {
	case e == 0:
		return 0
	case s.past.Sent(n, e):
		return 1
	}
	return -1
}
