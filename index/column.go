package index

import (
	"sync/atomic"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
)

// column is one node's history with room to grow, in one block of memory so that nodes with few events stay small: size
// times, then size node ids, then size edge ids. Only entries below used are visible to readers, and those never
// change.
type column struct {
	used atomic.Int32
	size int32       // negative: this is the column of a mixed one
	data *event.Time // [2·size], the second half holds the two columns of ids
}

func newColumn(size int) *column {
	return &column{size: int32(size), data: newBlock(size)}
}

func newBlock(size int) *event.Time { return unsafe.SliceData(make([]event.Time, 2*size)) }

// space is how many entries there is room for.
func (c *column) space() int { return max(int(c.size), -int(c.size)) }

// history is what readers may see now.
func (c *column) history() History { return c.room().slice(0, int(c.used.Load())) }

// room is the whole block, what is not used yet included.
func (c *column) room() History {
	size := c.space()
	ids := unsafe.Add(unsafe.Pointer(c.data), size*int(unsafe.Sizeof(*c.data)))
	both := unsafe.Slice((*int32)(ids), 2*size)
	return History{Node: both[:size:size], Edge: both[size:], Time: unsafe.Slice(c.data, size)}
}

// last is the time of the last entry, of which there is one.
func (c *column) last() event.Time { return c.room().Time[c.used.Load()-1] }

// full says that there is no room for another entry.
func (c *column) full() bool { return int(c.used.Load()) == c.space() }

// push adds an entry at the end, if there is room and nothing later stands there.
func (c *column) push(n event.Node, e event.Edge, at event.Time) bool {
	room, i := c.room(), c.used.Load()
	if int(i) == len(room.Time) || i > 0 && room.Time[i-1] > at {
		return false
	}
	room.set(int(i), n, e, at)
	c.used.Store(i + 1)
	return true
}

// grown is a copy of c with room for this many entries.
func (c *column) grown(size int) *column {
	out := newColumn(size)
	out.copy(c.history())
	return out
}

// copy fills a column that nobody sees yet.
func (c *column) copy(h History) {
	c.room().copy(0, h)
	c.used.Store(int32(h.Len()))
}

// larger is the size of a column that has no room left.
func larger(size int) int { return size + max(1, size/2) }

// bytes is the memory of the column, 0 for nil.
func (c *column) bytes() int64 {
	switch {
	case c == nil:
		return 0
	case c.size < 0:
		return c.mixed().bytes()
	}
	return int64(unsafe.Sizeof(*c)) + int64(c.space())*entryBytes
}

const entryBytes = 16
