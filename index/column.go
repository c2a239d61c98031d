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
	size int32       // negative: some entry came after a later one, so that edges do not ascend
	data *event.Time // [2·size], the second half holds the two columns of ids
}

func newColumn(size int) *column {
	return &column{size: int32(size), data: unsafe.SliceData(make([]event.Time, 2*size))}
}

// late says that some entry came after one of a later time.
func (c *column) late() bool { return c.size < 0 }

// space is how many entries there is room for.
func (c *column) space() int {
	if c.late() {
		return -int(c.size)
	}
	return int(c.size)
}

// history is what readers may see now.
func (c *column) history() History { return c.room().slice(0, int(c.used.Load())) }

// room is the whole block, what is not used yet included.
func (c *column) room() History {
	size := c.space()
	ids := unsafe.Add(unsafe.Pointer(c.data), size*int(unsafe.Sizeof(*c.data)))
	both := unsafe.Slice((*int32)(ids), 2*size)
	return History{Node: both[:size:size], Edge: both[size:], Time: unsafe.Slice(c.data, size)}
}

// push adds an entry at the end, if there is room and nothing later stands there.
func (c *column) push(n event.Node, e event.Edge, at event.Time) bool {
	room, i := c.room(), c.used.Load()
	if int(i) == c.space() || i > 0 && room.Time[i-1] > at {
		return false
	}
	room.Node[i], room.Edge[i], room.Time[i] = n, e, at
	c.used.Store(i + 1)
	return true
}

// with is a copy of c, which may be nil, that has one entry more, after all that are not later.
func (c *column) with(n event.Node, e event.Edge, at event.Time) *column {
	if c == nil {
		out := newColumn(1)
		out.push(n, e, at)
		return out
	}
	old, size := c.history(), c.space()
	if old.Len() == size {
		size += max(1, size/2)
	}
	out := newColumn(size)
	room, i := out.room(), old.Len()
	for i > 0 && old.Time[i-1] > at {
		i--
	}
	if c.late() || i < old.Len() {
		out.size = -out.size
	}
	insert(room.Node, old.Node, i, n)
	insert(room.Edge, old.Edge, i, e)
	insert(room.Time, old.Time, i, at)
	out.used.Store(int32(old.Len() + 1))
	return out
}

// grown is a column, c itself or a copy of it, with room for more entries. C may be nil.
func (c *column) grown(more int) *column {
	used := 0
	if c != nil {
		used = int(c.used.Load())
		if used+more <= c.space() {
			return c
		}
	}
	out := newColumn(used + more)
	if c == nil {
		return out
	}
	old, room := c.history(), out.room()
	copy(room.Node, old.Node)
	copy(room.Edge, old.Edge)
	copy(room.Time, old.Time)
	out.used.Store(int32(used))
	if c.late() {
		out.size = -out.size
	}
	return out
}

// insert fills dst with src and x at position i.
func insert[T any](dst, src []T, i int, x T) {
	copy(dst, src[:i])
	dst[i] = x
	copy(dst[i+1:], src[i:])
}

// bytes is the memory of the column, 0 for nil.
func (c *column) bytes() int64 {
	if c == nil {
		return 0
	}
	return int64(unsafe.Sizeof(*c)) + int64(c.space())*16
}
