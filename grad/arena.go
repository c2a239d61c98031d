package grad

import "github.com/dygmamba/dygmamba/device"

// align is the granularity of the arena in floats: 256 bytes, so that rows of vectors and device transactions start
// well.
const align = 64

// firstBlock is the size in floats of the first block, later ones double.
const firstBlock = 1 << 18

// arena hands out device memory by moving a mark. It grows by blocks during the first step; reset joins them into one
// block, so that later steps of the same size neither allocate nor search.
type arena struct {
	dev    device.Device
	blocks []device.Buffer
	at     int // the block in use
	used   int // floats used of it
	sum    int // floats in use in all blocks
	high   int // most floats ever in use
	moves  int // how often blocks came or went: addresses of one step are those of the next while it stays
	spare  []device.Buffer
	stays  bool // blocks only ever come: what one shape of step was given it is given again, whatever came between
}

// mark is a position to release to.
type mark struct{ at, used, sum int }

func round(n int) int { return (n + align - 1) &^ (align - 1) }

// alloc returns n floats of unknown content.
func (a *arena) alloc(n int) device.Buffer {
	if n == 0 {
		return device.Buffer{}
	}
	size := round(n)
	for a.at < len(a.blocks) && a.used+size > a.blocks[a.at].Len {
		a.at, a.used = a.at+1, 0
	}
	if a.at == len(a.blocks) {
		a.blocks = append(a.blocks, a.dev.Alloc(max(size, a.sum, firstBlock)))
		a.moves++
	}
	b := a.blocks[a.at].Slice(a.used, a.used+n)
	a.used += size
	a.sum += size
	a.high = max(a.high, a.sum)
	return b
}

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

// recycle takes memory back that nobody reads any more.
func (a *arena) recycle(b device.Buffer) {
	if b.Len > 0 {
		a.spare = append(a.spare, b)
	}
}

func (a *arena) mark() mark { return mark{a.at, a.used, a.sum} }

// release takes back everything allocated since m. Memory recycled in between must not be from before m.
func (a *arena) release(m mark) { a.at, a.used, a.sum = m.at, m.used, m.sum }

// reset takes everything back, and joins several blocks into one that holds the most ever used, unless they stay.
func (a *arena) reset() {
	a.spare = a.spare[:0]
	a.release(mark{})
	if len(a.blocks) > 1 && !a.stays {
		a.reserve(a.high)
	}
}

// reserve makes the arena one block of at least n floats. Nothing may be in use.
func (a *arena) reserve(n int) {
	n = round(n)
	if len(a.blocks) == 1 && a.blocks[0].Len >= n {
		return
	}
	a.free()
	a.blocks = append(a.blocks, a.dev.Alloc(n))
	a.moves++
}

// bytes is what the blocks take.
func (a *arena) bytes() int64 {
	n := int64(0)
	for _, b := range a.blocks {
		n += 4 * int64(b.Len)
	}
	return n
}

func (a *arena) free() {
	for _, b := range a.blocks {
		a.dev.Free(b)
	}
	a.blocks = a.blocks[:0]
	a.spare = a.spare[:0]
	a.release(mark{})
}

// intArena is the same for integers, which are few: inputs, masks and keys.
type intArena struct {
	dev    device.Device
	blocks []device.Ints
	at     int
	used   int
}

func (a *intArena) alloc(n int) device.Ints {
	if n == 0 {
		return device.Ints{}
	}
	size := round(n)
	for a.at < len(a.blocks) && a.used+size > a.blocks[a.at].Len {
		a.at, a.used = a.at+1, 0
	}
	if a.at == len(a.blocks) {
		a.blocks = append(a.blocks, a.dev.AllocInts(max(size, firstBlock/8)))
	}
	b := a.blocks[a.at].Slice(a.used, a.used+n)
	a.used += size
	return b
}

func (a *intArena) reset() { a.at, a.used = 0, 0 }

func (a *intArena) bytes() int64 {
	n := int64(0)
	for _, b := range a.blocks {
		n += 4 * int64(b.Len)
	}
	return n
}

func (a *intArena) free() {
	for _, b := range a.blocks {
		a.dev.FreeInts(b)
	}
	a.blocks = a.blocks[:0]
	a.reset()
}
