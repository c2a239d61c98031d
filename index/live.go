package index

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
)

// Live is a past that grows. One goroutine at a time adds; any number may ask meanwhile, and never wait.
//
// A history once handed out never changes: a new event is written behind what readers can see and then shown by one
// atomic store. A late event waits beside its node's history until somebody asks about the node, or until there are
// enough of them that a copy of the history with all of them in their places is worth its time. Readers see an event at
// its source a moment before its destination.
type Live struct {
	table atomic.Pointer[[]atomic.Pointer[page]] // by node id / pageSize
	nodes atomic.Int64                           // 1 + the largest node id
	bytes atomic.Int64
	base  *Frozen // histories of nodes that have no column yet; nil: they have none
}

// pageSize is the number of nodes that get their places in the table together.
const pageSize = 256

// page holds the current column of each of its nodes, nil for one that never occurred.
type page [pageSize]atomic.Pointer[column]

// NewLive makes an empty index.
func NewLive() *Live {
	l := &Live{}
	l.table.Store(new([]atomic.Pointer[page]))
	return l
}

// Continue makes an index that goes on from the events of a frozen one, with edge ids above theirs. It takes no time: a
// node's history is copied when an event of it comes in.
func Continue(base *Frozen) *Live {
	l := NewLive()
	l.base = base
	l.nodes.Store(int64(base.NumNodes()))
	return l
}

// Add enters a valid event. Events may come in any order of time.
func (l *Live) Add(e event.Event) {
	l.put(e.Src, e.Dst, e.Edge, e.Time)
	l.put(e.Dst, e.Src, e.Edge, e.Time)
	l.nodes.Store(max(l.nodes.Load(), int64(e.Src)+1, int64(e.Dst)+1))
}

// Before is the node's history strictly before t.
func (l *Live) Before(n event.Node, t event.Time) History {
	c := l.column(n)
	if c == nil {
		return l.begun(n, t)
	}
	if c.size < 0 {
		return c.mixed().before(t, math.MaxInt32)
	}
	h := c.history()
	return h.slice(0, earlier(h.Time, t))
}

// begun is the history that a node had from the beginning, strictly before t.
func (l *Live) begun(n event.Node, t event.Time) History {
	if l.base == nil {
		return History{}
	}
	return l.base.Before(n, t)
}

// column is the one that holds the node's history now, nil for a node that never occurred.
func (l *Live) column(n event.Node) *column {
	table := *l.table.Load()
	if n < 0 || int(n)/pageSize >= len(table) {
		return nil
	}
	p := table[n/pageSize].Load()
	if p == nil {
		return nil
	}
	return p[n%pageSize].Load()
}

// NumNodes is 1 + the largest node id that occurs.
func (l *Live) NumNodes() int { return int(l.nodes.Load()) }

// Bytes is the memory that the index holds, unused capacity included.
func (l *Live) Bytes() int { return int(unsafe.Sizeof(*l)) + int(l.bytes.Load()) }

// Expect makes room for events that are to come, so that their nodes' histories need not grow one by one: for each node
// how often it will occur.
func (l *Live) Expect(counts []int32) {
	for n, more := range counts {
		if more == 0 {
			continue
		}
		place := l.place(event.Node(n))
		if c := place.Load(); c == nil {
			l.replace(place, l.first(event.Node(n), int(more)))
		} else if size := int(c.used.Load() + more); size > c.space() {
			l.replace(place, c.sized(size))
		}
	}
}

// first is the column of a node that had none, with room for more entries.
func (l *Live) first(n event.Node, more int) *column {
	h := l.begun(n, math.Inf(1))
	c := newColumn(h.Len() + more)
	c.copy(h)
	return c
}

// put enters that n met other.
func (l *Live) put(n, other event.Node, edge event.Edge, at event.Time) {
	place := l.place(n)
	if place.Load() == nil && l.base != nil {
		if had := l.begun(n, math.Inf(1)).Len(); had > 0 {
			l.replace(place, l.first(n, larger(had)-had))
		}
	}
	c := place.Load()
	if c != nil && c.size < 0 {
		if m := c.mixed().renewed(); m != nil {
			c = &m.column
			l.replace(place, c)
		}
	}
	if c != nil && c.push(other, edge, at) {
		return
	}
	switch {
	case c == nil:
		c = newColumn(1)
	case c.full() && c.last() <= at:
		c = c.sized(larger(c.space()))
	default:
		l.putLate(place, other, edge, at)
		return
	}
	l.replace(place, c)
	c.push(other, edge, at)
}

// putLate enters an interaction before some that are there.
func (l *Live) putLate(place *atomic.Pointer[column], other event.Node, edge event.Edge, at event.Time) {
	c := place.Load()
	if c.size > 0 {
		c = &mix(c).column
		l.replace(place, c)
	}
	m := c.mixed()
	l.bytes.Add(m.wait(other, edge, at))
	if m.crowded() {
		l.replace(place, &m.merge(m.seen()).column)
	}
}

// replace puts another column in the place of a node's.
func (l *Live) replace(place *atomic.Pointer[column], c *column) {
	l.bytes.Add(c.bytes() - place.Load().bytes())
	place.Store(c)
}

// place is where the node's column stands. It makes room for the node first if there is none.
func (l *Live) place(n event.Node) *atomic.Pointer[column] {
	table, i := *l.table.Load(), int(n)/pageSize
	if i >= len(table) {
		wider := make([]atomic.Pointer[page], max(i+1, len(table)*3/2))
		for k := range table {
			wider[k].Store(table[k].Load())
		}
		l.table.Store(&wider)
		l.bytes.Add(int64(len(wider)-len(table)) * int64(unsafe.Sizeof(table[0])))
		table = wider
	}
	p := table[i].Load()
	if p == nil {
		p = new(page)
		table[i].Store(p)
		l.bytes.Add(int64(unsafe.Sizeof(*p)))
	}
	return &p[n%pageSize]
}

// AsOf is the past as it was when the event with the given edge id had come in: what was added later does not show,
// wherever in time it stands. The log is that of the events so far. Events must be added with edge ids that ascend,
// from the given one on. The view never changes and may be used while events are added; what it hands out is a copy
// only where late events stand between others that it does not show.
func (l *Live) AsOf(last event.Edge, log *event.Log) Logged {
	return asOf{live: l, last: last, nodes: l.NumNodes(), log: log}
}

type asOf struct {
	live  *Live
	last  event.Edge
	nodes int
	log   *event.Log
}

// Events are those that show, as the log was then.
func (v asOf) Events() *event.Log { return v.log }

// Before is the node's history strictly before t, without what came in later.
func (v asOf) Before(n event.Node, t event.Time) History {
	c := v.live.column(n)
	if c == nil {
		return v.live.begun(n, t)
	}
	if c.size < 0 {
		return c.mixed().before(t, v.last)
	}
	h := c.history()
	return h.slice(0, earlier(h.Time[:h.came(0, v.last)], t))
}

func (v asOf) NumNodes() int { return v.nodes }

// upTo is the history without edges above last: itself if there are none, otherwise a copy.
func (h History) upTo(last event.Edge) History {
	newer := 0
	for _, e := range h.Edge {
		if e > last {
			newer++
		}
	}
	if newer == 0 {
		return h
	}
	n := h.Len() - newer
	out := History{make([]event.Node, 0, n), make([]event.Edge, 0, n), make([]event.Time, 0, n)}
	for i, e := range h.Edge {
		if e <= last {
			out.Node, out.Edge, out.Time = append(out.Node, h.Node[i]), append(out.Edge, e), append(out.Time, h.Time[i])
		}
	}
	return out
}
