package walk

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// paged is an array in pages, and its pages are listed in chunks. States share both until one of them writes: whoever
// writes to a page of another owner copies the page and its chunk first. So a copy of a state costs as much as the list
// of its chunks, which is a few thousandths of the state, and writing after that costs little at a time.
type paged[T any] struct {
	shift  uint // a page has 1<<shift elements
	unit   int  // of this many T each
	count  int  // T in all pages
	chunks []*chunk[T]
}

// chunk is a few pages, of which those are its owner's own whose bits are set. A page is told by its first element: all
// are equally long.
type chunk[T any] struct {
	pages [chunkPages]*T
	owner uint64
	own   uint32
}

// pageBytes is about how large a page is, chunkPages how many are listed together. Both are small, as an event writes
// to two rows, two nodes and up to seven counts, which are seldom near each other: after a copy each of them copies a
// page and its chunk.
const (
	pageBytes  = 512
	chunkShift = 4
	chunkPages = 1 << chunkShift
)

// newPaged makes an empty array of elements of unit T each, with pages of about pageBytes.
func newPaged[T any](unit, bytes int) paged[T] {
	return paged[T]{unit: unit, shift: fit(bytes, pageBytes)}
}

// fit is the shift of as many elements of some bytes as fit into a page, at least one.
func fit(bytes, page int) (shift uint) {
	for 2*bytes<<shift <= page {
		shift++
	}
	return shift
}

// owners tells owners of pages apart.
var owners atomic.Uint64

// at is element i, to be read; its page must be there.
func (p *paged[T]) at(i int32) []T {
	k := i >> p.shift
	lo := int(i) & (1<<p.shift - 1) * p.unit
	return p.slice(p.chunks[k>>chunkShift].pages[k&(chunkPages-1)])[lo : lo+p.unit : lo+p.unit]
}

// slice is the page that begins with an element.
func (p *paged[T]) slice(first *T) []T { return unsafe.Slice(first, p.unit<<p.shift) }

// page is the page of element i, nil if it is not there.
func (p *paged[T]) page(i int32) []T {
	k := i >> p.shift
	if int(k>>chunkShift) >= len(p.chunks) || p.chunks[k>>chunkShift] == nil {
		return nil
	}
	if first := p.chunks[k>>chunkShift].pages[k&(chunkPages-1)]; first != nil {
		return p.slice(first)
	}
	return nil
}

// has says whether the page of element i is there.
func (p *paged[T]) has(i int32) bool { return p.page(i) != nil }

// own is element i, to be written. A page that is not there is made. It says how many bytes of another owner's were
// copied, in T.
func (p *paged[T]) own(i int32, owner uint64) (element []T, copied int) {
	page, copied := p.ownPage(i, owner)
	lo := int(i) & (1<<p.shift - 1) * p.unit
	return page[lo : lo+p.unit : lo+p.unit], copied
}

// ownPage is the page of element i, to be written.
func (p *paged[T]) ownPage(i int32, owner uint64) (data []T, copied int) {
	k := i >> p.shift
	at := int(k >> chunkShift)
	for at >= len(p.chunks) {
		p.chunks = append(p.chunks, nil)
	}
	c := p.chunks[at]
	if c == nil || c.owner != owner {
		own := &chunk[T]{owner: owner}
		if c != nil {
			own.pages = c.pages
		}
		p.chunks[at], c = own, own
	}
	k &= chunkPages - 1
	switch first := c.pages[k]; {
	case first == nil:
		data = make([]T, p.unit<<p.shift)
		p.count += len(data)
	case c.own&(1<<k) == 0:
		data = slices.Clone(p.slice(first))
		copied = len(data)
	default:
		return p.slice(first), 0
	}
	c.pages[k], c.own = &data[0], c.own|1<<k
	return data, copied
}

// clone is an array with the same pages. Neither the clone nor the array may have the owner so far from then on, unless
// it is not written to any more.
func (p *paged[T]) clone() paged[T] {
	c := *p
	c.chunks = append([]*chunk[T](nil), p.chunks...)
	return c
}

// all calls see with every page that is there, in order.
func (p *paged[T]) all(see func(page []T)) {
	for _, c := range p.chunks {
		if c == nil {
			continue
		}
		for _, first := range c.pages {
			if first != nil {
				see(p.slice(first))
			}
		}
	}
}
