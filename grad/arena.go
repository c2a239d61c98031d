package grad

import "github.com/dygmamba/dygmamba/device"

// align is the granularity of the arena in floats: 256 bytes, so that rows of vectors and device transactions start
// well.
const align = 64

// firstBlock is the size in floats of the first block, later ones double.
const firstBlock = 1 << 18

// blocks hand out device memory of one kind by moving a mark. What is handed out has unknown content.
type blocks[B interface{ Slice(lo, hi int) B }] struct {
	take  func(n int) B
	give  func(b B)
	list  []B
	sizes []int // of the blocks
	at    int   // the block in use
	used  int   // numbers used of it
	sum   int   // numbers in use in all blocks
	high  int   // most numbers ever in use
	moves int   // how often blocks came or went: addresses of one step are those of the next while it stays
}

// mark is a position to release to.
type mark struct{ at, used, sum int }

func round(n int) int { return (n + align - 1) &^ (align - 1) }

// alloc returns n numbers; a block that is needed for them has at least this many.
func (a *blocks[B]) alloc(n, least int) (b B) {
	if n == 0 {
		return b
	}
	size := round(n)
	for a.at < len(a.list) && a.used+size > a.sizes[a.at] {
		a.at, a.used = a.at+1, 0
	}
	if a.at == len(a.list) {
		a.add(max(size, least))
	}
	b = a.list[a.at].Slice(a.used, a.used+n)
	a.used += size
	a.sum += size
	a.high = max(a.high, a.sum)
	return b
}

func (a *blocks[B]) add(size int) {
	a.list, a.sizes = append(a.list, a.take(size)), append(a.sizes, size)
	a.moves++
}

func (a *blocks[B]) mark() mark { return mark{a.at, a.used, a.sum} }

// release takes back everything allocated since m.
func (a *blocks[B]) release(m mark) { a.at, a.used, a.sum = m.at, m.used, m.sum }

// bytes is what the blocks take.
func (a *blocks[B]) bytes() (n int64) {
	for _, size := range a.sizes {
		n += 4 * int64(size)
	}
	return n
}

func (a *blocks[B]) free() {
	for _, b := range a.list {
		a.give(b)
	}
	a.list, a.sizes = a.list[:0], a.sizes[:0]
	a.release(mark{})
}

// arena are blocks of floats. It grows by blocks during the first step; reset joins them into one block, so that later
// steps of the same size neither allocate nor search.
type arena struct {
	blocks[device.Buffer]
	spare []device.Buffer
	stays bool // blocks only ever come: what one shape of step was given it is given again, whatever came between
}

func newArena(dev device.Device, stays bool) arena {
	return arena{blocks: blocks[device.Buffer]{take: dev.Alloc, give: dev.Free}, stays: stays}
}

// alloc returns n floats of unknown content.
func (a *arena) alloc(n int) device.Buffer { return a.blocks.alloc(n, max(a.sum, firstBlock)) }

// reuse returns n floats of unknown content, preferably some that were recycled.
func (a *arena) reuse(n int) device.Buffer {
	for i, b := range a.spare {
		if b.Len == n {
			last := len(a.spare) - 1
			a.spare[i] = a.spare[last]
			a.spare = a.spare[:last]
			return b
		}
	}
	return a.alloc(n)
}

// recycle takes memory back that nobody reads any more; it is not from before a mark that is released to.
func (a *arena) recycle(b device.Buffer) {
	if b.Len > 0 {
		a.spare = append(a.spare, b)
	}
}

// reset takes everything back, and joins several blocks into one that holds the most ever used, unless they stay.
func (a *arena) reset() {
	a.spare = a.spare[:0]
	a.release(mark{})
	if len(a.list) > 1 && !a.stays {
		a.reserve(a.high)
	}
}

// reserve makes the arena one block of at least n floats. Nothing may be in use.
func (a *arena) reserve(n int) {
	n = round(n)
	if len(a.list) == 1 && a.sizes[0] >= n {
		return
	}
	a.free()
	a.spare = a.spare[:0]
	a.add(n)
}
