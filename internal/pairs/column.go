package pairs

import (
	"unsafe"

	"github.com/dygmamba/dygmamba/internal/memory"
)

// Column is a list that grows without moving what it holds. The zero value is empty.
type Column[T any] struct {
	chunks [][]T // all of chunk entries; the last ones may have room
	n      int
}

// The entries of a chunk: many, so that there are few chunks.
const (
	chunkBits = 15
	chunk     = 1 << chunkBits
)

// Len is the number of entries.
func (c *Column[T]) Len() int { return c.n }

// At is entry i.
func (c *Column[T]) At(i int) *T { return &c.chunks[i>>chunkBits][i&(chunk-1)] }

// Append adds an entry.
func (c *Column[T]) Append(x T) {
	if c.n == len(c.chunks)<<chunkBits {
		c.grow()
	}
	c.n++
	*c.At(c.n - 1) = x
}

// Extend adds entries that are zero, so that there are n.
func (c *Column[T]) Extend(n int) {
	if more := (n+chunk-1)>>chunkBits - len(c.chunks); more > 0 {
		c.room(more)
	}
	for c.n < n { // what was truncated is not zero
		rest := c.chunks[c.n>>chunkBits][c.n&(chunk-1):]
		rest = rest[:min(len(rest), n-c.n)]
		clear(rest)
		c.n += len(rest)
	}
}

// grow makes room for an eighth more, in one piece, so that it can lie on large pages.
func (c *Column[T]) grow() {
	c.room(1 + len(c.chunks)/8)
}

// room adds chunks.
func (c *Column[T]) room(chunks int) {
	room := memory.Huge(make([]T, chunks*chunk))
	for lo := 0; lo < len(room); lo += chunk {
		c.chunks = append(c.chunks, room[lo:lo+chunk])
	}
}

// Truncate drops the entries from i on.
func (c *Column[T]) Truncate(i int) {
	c.n = i
	keep := (i + chunk - 1) >> chunkBits
	clear(c.chunks[keep:])
	c.chunks = c.chunks[:keep]
}

// Bytes is the memory that the entries hold.
func (c *Column[T]) Bytes() int {
	var x T
	return len(c.chunks) << chunkBits * int(unsafe.Sizeof(x))
}
