package index

import (
	"sync/atomic"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
)

// Live is a past that grows. One goroutine at a time adds; any number may ask meanwhile, and never wait.
//
// A history once handed out never changes: a new event is written behind what readers can see and then shown by one
// atomic store, and a late event goes into a copy of its node's history. Readers see an event at its source a moment
// before its destination.
type Live struct {
	table atomic.Pointer[[]atomic.Pointer[page]] // by node id / pageSize
	nodes atomic.Int64                           // 1 + the largest node id
	bytes atomic.Int64
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

// Add enters a valid event. Events may come in any order of time, but one that is earlier than the last of either node
// costs a copy of that node's history.
func (l *Live) Add(e event.Event) {
	l.put(e.Src, e.Dst, e.Edge, e.Time)
	l.put(e.Dst, e.Src, e.Edge, e.Time)
	l.nodes.Store(max(l.nodes.Load(), int64(e.Src)+1, int64(e.Dst)+1))
}

// Before is the node's history strictly before t.
func (l *Live) Before(n event.Node, t event.Time) History {
	c := l.column(n)
	if c == nil {
		return History{}
	}
	h := c.history()
	return h.slice(0, earlier(h.Time, t))
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
		c := place.Load()
		grown := c.grown(int(more))
		if grown != c {
			place.Store(grown)
			l.bytes.Add(grown.bytes() - c.bytes())
		}
	}
}

// put enters that n met other.
func (l *Live) put(n, other event.Node, edge event.Edge, at event.Time) {
	place := l.place(n)
	c := place.Load()
	if c != nil && c.push(other, edge, at) {
		return
	}
	grown := c.with(other, edge, at)
	place.Store(grown)
	l.bytes.Add(grown.bytes() - c.bytes())
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
