package sample

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
func (k *worker) see(j int) {
	w, s, d := k.work, &k.work.walks, &k.work.batch.Walks
	i := int(s.part[j])
	q := &w.batch.Queries[i]
	k.walker.catchUp(s, q.Time)
	d.Src[i], d.Dst[i] = k.walker.see(s, q.Src), k.walker.see(s, q.Dst)
	if !w.plan.Walks.Neighbors {
		return
	}
	for draw := range w.draws {
		if !w.draws[draw].isRoot() {
			continue
		}
		r := &w.batch.Rows[draw]
		rows := r.Walk[i*r.Len : (i+1)*r.Len]
		for at, n := range r.Node[i*r.Len : (i+1)*r.Len] {
			rows[at] = -1
			if n != 0 {
				rows[at] = k.walker.see(s, n)
			}
		}
	}
}

// catchUp lets what happened before t be seen.
func (k *walker) catchUp(s *walks, t event.Time) {
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
func (k *walker) see(s *walks, n event.Node) int32 {
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
func (k *worker) tell(j int) {
	w, s, b, ask := k.work, &k.work.walks, k.work.batch, k.work.plan.Walks
	i := int(s.part[j])
	t, d := b.Queries[i].Time, &b.Walks
	if d.Width > 0 {
		d.Src[i], d.SrcAge[i] = s.told(d.Src[i], t)
		d.Dst[i], d.DstAge[i] = s.told(d.Dst[i], t)
	}
	if ask.Roles {
		ask.Options.Roles(&s.doing[i], t, d.Roles[i*walk.Roles:])
	}
	if ask.Sequels {
		ask.Options.Sequels(&s.after[i], t, d.Sequels[i*walk.Sequels:])
	}
	for draw := range w.draws {
		r := &b.Rows[draw]
		if !w.draws[draw].isRoot() {
			continue
		}
		lo, hi := i*r.Len, (i+1)*r.Len
		if ask.Neighbors {
			rows, ages := r.Walk[lo:hi], r.Age[lo:hi]
			for at, id := range rows {
				ages[at] = 0
				if id >= 0 {
					rows[at], ages[at] = s.told(id, t)
				}
			}
		}
		if ask.Direction {
			n, _ := w.root(draw, i)
			ways := r.Way[lo:hi]
			for at, e := range r.Edge[lo:hi] {
				ways[at] = s.way(n, e)
			}
		}
	}
}

// told is the row of what is seen, and its age at t.
func (s *walks) told(id int32, t event.Time) (row int32, age float32) {
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
func (s *walks) way(n event.Node, e event.Edge) float32 {
	switch {
	case e == 0:
		return 0
	case s.past.Sent(n, e):
		return 1
	}
	return -1
}
