package index

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
)

// mixed is the column of a node that had late events, with those of them that wait for their places.
//
// Only the writer changes it. A reader that wants to see late events in their places makes a copy that has them there,
// and leaves it for other readers and for the writer, which goes on with it at the node's next event. So a late event
// costs the writer little, and a history is copied at most once for all that were late between two questions.
type mixed struct {
	column             // first, so that a pointer to it is one to the whole
	placed  int32      // entries that came in any order; those behind came after them, one after the other
	newest  event.Edge // the highest id of the placed ones
	waiting atomic.Pointer[column]
	merged  atomic.Pointer[mixed] // what a reader made of it

	// Of what a reader made: how many entries of the column, and of those that wait, are in it.
	from, took int32
}

// patience is the part of a history that may wait: one in this many. More would save little time in writing, and fewer
// little in reading.
const patience = 64

// mix is a column that is going to have late events. It goes on in the same memory.
func mix(c *column) *mixed {
	m := &mixed{}
	m.size, m.data = -c.size, c.data
	m.used.Store(c.used.Load())
	return m
}

// mixed is what a column with a negative size is the beginning of: its address is that of the whole, which it keeps
// alive. That holds because sizes never change and only mix and newMixed make negative ones, both of them of a column
// within a mixed; the race detector's checks of pointers (checkptr) see it too. A pointer back would do without the
// cast, but cost every node 8 bytes, and streams in which no node comes back more than the memory that is promised.
func (c *column) mixed() *mixed { return (*mixed)(unsafe.Pointer(c)) }

// sized is a copy of any column with room for this many entries.
func (c *column) sized(size int) *column {
	if c.size > 0 {
		return c.grown(size)
	}
	m := c.mixed()
	out := newMixed(size)
	out.copy(m.history())
	out.placed, out.newest = m.placed, m.newest
	if w := m.waiting.Load(); w != nil {
		out.waiting.Store(w.grown(w.space()))
	}
	return &out.column
}

func newMixed(size int) *mixed {
	m := &mixed{}
	m.size, m.data = -int32(size), newBlock(size)
	return m
}

// wait lets an interaction wait that is earlier than the last of the column. It says how many bytes that took.
func (m *mixed) wait(n event.Node, e event.Edge, at event.Time) (bytes int64) {
	w := m.waiting.Load()
	bytes = -w.bytes()
	switch {
	case w == nil:
		w = newColumn(1)
	case w.full():
		w = w.grown(larger(w.space()))
	}
	i := w.used.Load()
	w.room().set(int(i), n, e, at)
	w.used.Store(i + 1)
	m.waiting.Store(w)
	return bytes + w.bytes()
}

// crowded says that enough interactions wait to be put in their places.
func (m *mixed) crowded() bool { return m.waiting.Load().used.Load() > m.used.Load()/patience }

// renewed is what a reader made, with all that came since, for the writer to go on with; nil if no reader made
// anything.
func (m *mixed) renewed() *mixed {
	made := m.merged.Load()
	if made == nil {
		return nil
	}
	base, late := m.seen()
	out, more := made, base.Len()-int(made.from)
	if int(made.placed)+more > made.space() {
		out = made.sized(larger(int(made.placed) + more)).mixed()
	}
	for i := range more {
		k := int(made.from) + i
		out.push(base.Node[k], base.Edge[k], base.Time[k])
	}
	for k := int(made.took); k < late.Len(); k++ {
		out.wait(late.Node[k], late.Edge[k], late.Time[k])
	}
	return out
}

// seen is what there is at one moment: the column, and what waits in the order in which it came.
func (m *mixed) seen() (base, late History) {
	for {
		w := m.waiting.Load()
		if w == nil {
			late = History{}
		} else {
			late = w.history()
		}
		base = m.history()
		if m.waiting.Load() == w && (w == nil || int(w.used.Load()) == late.Len()) {
			return base, late
		}
	}
}

// before is the history strictly before t of events with ids up to last.
func (m *mixed) before(t event.Time, last event.Edge) History {
	base, late := m.seen()
	if m.newest > last { // of a moment that was before some were put in their places
		base = base.slice(0, int(m.placed))
		return base.slice(0, earlier(base.Time, t)).upTo(last)
	}
	base = base.slice(0, base.came(int(m.placed), last))
	if late = late.slice(0, late.came(0, last)); late.Len() > 0 {
		base = m.together(base, late, t)
	}
	return base.slice(0, earlier(base.Time, t))
}

// together is the beginning of the column and of what waits in one history, or without what waits if all of that is
// later than t.
func (m *mixed) together(base, late History, t event.Time) History {
	made := m.merged.Load()
	if made == nil || int(made.from) != base.Len() || int(made.took) != late.Len() {
		if slices.Min(late.Time) >= t {
			return base
		}
		was := made
		made = m.merge(base, late)
		if was == nil || was.placed < made.placed { // otherwise this is about an older moment
			m.merged.Store(made)
		}
	}
	return made.room().slice(0, int(made.placed))
}

// merge is a copy that has late interactions in their places: after all that are not later. Both histories are
// beginnings of what m has.
func (m *mixed) merge(base, late History) *mixed {
	n := base.Len() + late.Len()
	size := m.space()
	if n > size {
		size = larger(n)
	}
	out := newMixed(size)
	out.from, out.took, out.placed = int32(base.Len()), int32(late.Len()), int32(n)
	out.newest = max(m.newest, late.Edge[late.Len()-1])
	if base.Len() > int(m.placed) {
		out.newest = max(out.newest, base.Edge[base.Len()-1])
	}
	room, lo := out.room(), 0
	for k, i := range late.order() {
		hi := lo + earlier(base.Time[lo:], math.Nextafter(late.Time[i], math.Inf(1)))
		room.copy(lo+k, base.slice(lo, hi))
		room.copy(hi+k, late.slice(i, i+1))
		lo = hi
	}
	room.copy(lo+late.Len(), base.slice(lo, base.Len()))
	out.used.Store(int32(n))
	return out
}

// order is the interactions by time, ties as they came.
func (h History) order() []int {
	order := make([]int, h.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(h.Time[i], h.Time[j]), i-j) })
	return order
}

// came is how many interactions there are without the edges above last at the end; the first ones count in any case.
func (h History) came(first int, last event.Edge) int {
	i := h.Len()
	for i > first && h.Edge[i-1] > last { // few: what came in since
		i--
	}
	return i
}

// bytes is the memory of all of it, but for what readers made.
func (m *mixed) bytes() int64 {
	return int64(unsafe.Sizeof(*m)) + int64(m.space())*entryBytes + m.waiting.Load().bytes()
}
