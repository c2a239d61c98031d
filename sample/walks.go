package sample

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/walk"
)

// Walks asks for what package walk knows as of each query's time: the vectors of its two nodes, and of every position
// of the draws that look at these two, and what the two were up to. It keeps the states that it has gone through, so
// that batches in order of time cost no more than the events between them. It is safe for concurrent use.
type Walks struct {
	Options   walk.Options
	Nodes     bool // the table, and where in it the queries' nodes stand
	Neighbors bool // and where the positions of rows do
	Direction bool // who was the source of each position's event
	Roles     bool // what the queries' nodes were up to

	mu    sync.Mutex
	pasts []*logged // those that were asked about last, the latest first
}

// logged is the states of a log.
type logged struct {
	log  *event.Log
	past *walk.Past
}

// mostPasts are the logs whose states are kept: that of training, that of evaluation, and one of someone who asks what
// would be if.
const mostPasts = 3

// Walked is what Walks has found for n queries.
type Walked struct {
	Width    int       // of a row: walk.Vectors vectors
	Table    []float32 // [rows, Width]: nodes as of their last event before a query, each state once
	Src, Dst []int32   // [n]: rows of the queries' nodes
	SrcAge   []float32 // [n]: how much older these are than the query
	DstAge   []float32 // [n]
	Roles    []float32 // [n, walk.Roles]
}

// WalkMultiple is what the number of rows of a table is a multiple of, so that batches come in few sizes.
const WalkMultiple = 256

// Listed says why the walks of a past cannot be told: nobody knows its events one by one.
func Listed(past index.View) error {
	if l, ok := past.(index.Logged); !ok || l.Events() == nil {
		return fmt.Errorf("the model asks for walks between nodes, and a past of type %T does not list its events", past)
	}
	return nil
}

// bytes is what a query takes in a table at most, where the draws have so many positions for each.
func (s *Walks) bytes(each []float64) float64 {
	total := 4.0 * walk.Roles
	if s.Nodes || s.Neighbors {
		nodes := 2.0
		if s.Neighbors {
			for _, n := range each {
				nodes += n
			}
		}
		// Most nodes of a batch occur in it many times.
		total += min(nodes, 16) * 4 * float64(s.Options.Width())
	}
	return total
}

// over is the states of a past, which the caller has locked.
func (s *Walks) over(past index.View) *walk.Past {
	if err := Listed(past); err != nil {
		panic(err)
	}
	log := past.(index.Logged).Events()
	i := slices.IndexFunc(s.pasts, func(k *logged) bool { return log.Continues(k.log) })
	if i < 0 {
		i = min(len(s.pasts), mostPasts-1)
		s.pasts = append(s.pasts[:i], &logged{log, walk.Over(log, s.Options)})
	}
	k := s.pasts[i]
	if k.log != log {
		k.log = log
		k.past.Grow(log)
	}
	copy(s.pasts[1:], s.pasts[:i])
	s.pasts[0] = k
	return k.past
}

func (d *Walked) reset() {
	d.Width, d.Table = 0, d.Table[:0]
	d.Src, d.Dst, d.SrcAge, d.DstAge = d.Src[:0], d.Dst[:0], d.SrcAge[:0], d.DstAge[:0]
	d.Roles = d.Roles[:0]
}

// walks is what is known of the nodes of a batch while its table is made.
type walks struct {
	order []int32 // queries by time
	near  []walked
	far   map[event.Node]walked // nodes beyond those of the past
	now   int32
}

// walked is where a node stands in the table. It stands there once for each of its states that is seen.
type walked struct {
	round int32      // of the gather it is true for
	row   int32      //
	at    event.Time // of the state; −Inf for a node without events
}

// walk goes through the queries in order of time.
func (w *work) walk() {
	ask, b := w.plan.Walks, w.batch
	ask.mu.Lock()
	defer ask.mu.Unlock()
	past := ask.over(w.past)
	n := len(b.Queries)
	w.startWalks(n)
	d := &b.Walks
	if ask.Nodes || ask.Neighbors {
		d.Width = ask.Options.Width()
		d.Src, d.Dst, d.SrcAge, d.DstAge = resize(d.Src, n), resize(d.Dst, n), resize(d.SrcAge, n), resize(d.DstAge, n)
	}
	if ask.Roles {
		d.Roles = resize(d.Roles, n*walk.Roles)
	}
	for _, i := range w.walks.order {
		q := b.Queries[i]
		state := past.At(q.Time)
		if d.Width > 0 {
			d.Src[i], d.SrcAge[i] = w.walked(state, q.Src, q.Time)
			d.Dst[i], d.DstAge[i] = w.walked(state, q.Dst, q.Time)
		}
		if ask.Roles {
			state.Roles(q.Src, q.Dst, q.Time, d.Roles[int(i)*walk.Roles:])
		}
		for r := range w.draws {
			if w.draws[r].isRoot() {
				w.walkRow(past, state, r, int(i))
			}
		}
	}
	if d.Width > 0 {
		rows := len(d.Table) / d.Width
		full := (rows + WalkMultiple - 1) / WalkMultiple * WalkMultiple * d.Width
		used := len(d.Table)
		d.Table = slices.Grow(d.Table, full-used)[:full]
		clear(d.Table[used:])
	}
}

// startWalks makes room, and puts the queries in order of time.
func (w *work) startWalks(n int) {
	s, qs := &w.walks, w.batch.Queries
	s.order = resize(s.order, n)
	for i := range s.order {
		s.order[i] = int32(i)
	}
	slices.SortStableFunc(s.order, func(i, j int32) int { return cmp.Compare(qs[i].Time, qs[j].Time) })
	if s.now++; s.now < 0 {
		clear(s.near)
		s.now = 1
	}
	if more := w.past.NumNodes() - len(s.near); more > 0 {
		s.near = append(s.near, make([]walked, more)...)
	}
	clear(s.far)
	if w.plan.Walks.Neighbors || w.plan.Walks.Direction {
		for d := range w.draws {
			r := &w.batch.Rows[d]
			if !w.draws[d].isRoot() {
				continue
			}
			if w.plan.Walks.Neighbors {
				r.Walk, r.Age = resize(r.Walk, len(r.Node)), resize(r.Age, len(r.Node))
			}
			if w.plan.Walks.Direction {
				r.Out = resize(r.Out, len(r.Node))
			}
		}
	}
}

// walkRow says where the positions of a query's row stand in the table, and which way their events went.
func (w *work) walkRow(past *walk.Past, state *walk.State, draw, i int) {
	r := &w.batch.Rows[draw]
	n, t := w.root(draw, i)
	for j := i * r.Len; j < (i+1)*r.Len; j++ {
		if w.plan.Walks.Neighbors {
			r.Walk[j], r.Age[j] = -1, 0
			if r.Node[j] != 0 {
				r.Walk[j], r.Age[j] = w.walked(state, r.Node[j], t)
			}
		}
		if w.plan.Walks.Direction {
			r.Out[j] = 0
			if r.Edge[j] != 0 && past.Sent(n, r.Edge[j]) {
				r.Out[j] = 1
			}
		}
	}
}

// walked is the row of a node as it is now, which becomes part of the table if it is not yet, and its age at t.
func (w *work) walked(state *walk.State, n event.Node, t event.Time) (row int32, age float32) {
	s, d := &w.walks, &w.batch.Walks
	vectors, at := state.Row(n)
	if vectors == nil {
		at = math.Inf(-1)
	} else {
		age = float32(t - at)
	}
	near := n >= 0 && int(n) < len(s.near)
	var known walked
	if near {
		known = s.near[n]
	} else {
		known = s.far[n]
	}
	if known.round == s.now && known.at == at {
		return known.row, age
	}
	known = walked{s.now, int32(len(d.Table) / d.Width), at}
	d.Table = slices.Grow(d.Table, d.Width)[:len(d.Table)+d.Width]
	fresh := d.Table[len(d.Table)-d.Width:]
	if vectors != nil {
		copy(fresh, vectors)
	} else {
		state.Begin(n, fresh)
	}
	if near {
		s.near[n] = known
		return known.row, age
	}
	if s.far == nil {
		s.far = map[event.Node]walked{}
	}
	s.far[n] = known
	return known.row, age
}
