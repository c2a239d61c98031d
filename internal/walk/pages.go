package walk

import (
	"slices"
	"time"
	"unsafe"
)

// paged is an array in pages, and its pages are listed in chunks. Arrays share both until one of them writes: whoever
// writes to a page that others hold copies the page and its chunk first. So a copy of a state costs as much as the list
// of its chunks, which is a few thousandths of the state, and writing after that costs little at a time.
type paged[T any] struct {
	shift  uint    // a page has 1<<shift elements
	unit   int     // of this many T each
	bytes  uintptr // of a page
	count  int     // T in all pages
	chunks []int32 // 0: none; those marked mine are this array's alone
	old    []int32 // pages that were copied to be written to, and that may be read until settle

	store *store[T]
	pages slabs[T] // of the store, as far as this array has any of it
	lists slabs[chunk]
}

// chunk is a list of a few pages, 0 for none.
type chunk struct {
	mine  uint32 // has a bit for each page that no other chunk lists; only who holds the chunk alone relies on it
	pages [chunkPages]int32
}

// mine marks a chunk that no other array has, beside its number.
const mine = -1 << 31

// pageBytes is about how large a page is, chunkPages how many are listed together. Both are small, as an event writes
// to two rows, two nodes and up to seven counts, which are seldom near each other: after a copy each of them copies a
// page and its chunk.
const (
	pageBytes  = 512
	chunkShift = 4
	chunkPages = 1 << chunkShift
	chunkBytes = unsafe.Sizeof(chunk{})
)

// newPaged makes an empty array of elements of unit T each, which take some bytes, with pages of about pageBytes.
func newPaged[T any](unit, bytes int) paged[T] {
	shift := fit(bytes, pageBytes)
	return paged[T]{unit: unit, shift: shift, bytes: uintptr(bytes) << shift, store: newStore[T](unit << shift)}
}

// fit is the shift of as many elements of some bytes as fit into a page, at least one.
func fit(bytes, page int) (shift uint) {
	for 2*bytes<<shift <= page {
		shift++
	}
	return shift
}

// at is element i, to be read; its page must be there.
func (p *paged[T]) at(i int32) []T {
	k := i >> p.shift
	id := p.chunk(p.chunks[k>>chunkShift] &^ mine).pages[k&(chunkPages-1)]
	return p.element(id, i)
}

// element is element i, which is in a page.
func (p *paged[T]) element(page, i int32) []T {
	lo := int(i) & (1<<p.shift - 1) * p.unit
	return p.data(page)[lo : lo+p.unit : lo+p.unit]
}

func (p *paged[T]) chunk(id int32) *chunk { return p.lists.at(id, chunkBytes) }

func (p *paged[T]) data(page int32) []T {
	return unsafe.Slice(p.pages.at(page, p.bytes), p.unit<<p.shift)
}

// page is the page of element i, nil if it is not there.
func (p *paged[T]) page(i int32) []T {
	k := i >> p.shift
	if int(k>>chunkShift) >= len(p.chunks) || p.chunks[k>>chunkShift] == 0 {
		return nil
	}
	if id := p.chunk(p.chunks[k>>chunkShift] &^ mine).pages[k&(chunkPages-1)]; id != 0 {
		return p.data(id)
	}
	return nil
}

// has says whether the page of element i is there.
func (p *paged[T]) has(i int32) bool { return p.page(i) != nil }

// own is element i, to be written. A page that is not there is made. It says how many T were copied because another
// array has them too.
func (p *paged[T]) own(i int32) (element []T, copied int) {
	page, copied := p.ownPage(i)
	return p.element(page, i), copied
}

// ownPage is the page of element i, to be written.
func (p *paged[T]) ownPage(i int32) (page int32, copied int) {
	k := i >> p.shift
	at := int(k >> chunkShift)
	for at >= len(p.chunks) {
		p.chunks = append(p.chunks, 0)
	}
	if id := p.chunks[at]; id < 0 {
		if c := p.chunk(id &^ mine); c.mine&(1<<(k&(chunkPages-1))) != 0 {
			return c.pages[k&(chunkPages-1)], 0
		}
	}
	page, from := p.makeOwn(at, int(k&(chunkPages-1)))
	switch {
	case from == page:
	case from == 0:
		data := p.data(page)
		clear(data)
		p.count += len(data)
	default:
		p.old = append(p.old, from)
		copied = copy(p.data(page), p.data(from))
	}
	return page, copied
}

// makeOwn lets an entry of a chunk be a page that no other array has: the one so far, or one that is to be filled.
func (p *paged[T]) makeOwn(at, entry int) (page, from int32) {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	c := p.ownChunk(at)
	c.mine |= 1 << entry
	if page = c.pages[entry]; page != 0 && *s.pages.count(page) == 1 {
		return page, page
	}
	from, page = page, s.pages.take()
	c.pages[entry], p.pages = page, s.pages.slabs
	return page, from
}

// ownChunk is a chunk that no other array has. The caller holds the store's lock.
func (p *paged[T]) ownChunk(at int) *chunk {
	s, id := p.store, p.chunks[at]
	switch {
	case id < 0:
		return p.chunk(id &^ mine)
	case id != 0 && *s.lists.count(id) == 1:
		p.chunks[at] |= mine
		return p.chunk(id)
	}
	own := s.lists.take()
	p.chunks[at], p.lists = own|mine, s.lists.slabs
	c := p.chunk(own)
	if id == 0 {
		*c = chunk{}
		return c
	}
	from := p.chunk(id)
	from.mine = 0
	*c = *from
	for _, page := range c.pages {
		if page != 0 {
			*s.pages.count(page)++
		}
	}
	p.dropChunk(id)
	return c
}

// dropChunk lets go of a chunk. The caller holds the store's lock.
func (p *paged[T]) dropChunk(id int32) {
	if p.store.lists.drop(id) {
		p.dropPages(p.chunk(id).pages[:])
	}
}

func (p *paged[T]) dropPages(ids []int32) {
	for _, id := range ids {
		if id != 0 {
			p.store.pages.drop(id)
		}
	}
}

// settle lets go of pages that were copied: none of them is read any more.
func (p *paged[T]) settle() {
	if len(p.old) == 0 {
		return
	}
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.dropPages(p.old)
	p.old = p.old[:0]
}

// share makes clones of the array possible, and has to be called before them: what it has is no longer its alone.
func (p *paged[T]) share() {
	for i := range p.chunks {
		p.chunks[i] &^= mine
	}
}

// clone is an array with the same pages. Several goroutines may call it after share.
func (p *paged[T]) clone() paged[T] {
	c := *p
	c.chunks, c.old = slices.Clone(p.chunks), nil
	if len(c.chunks) == 0 {
		return c
	}
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	for _, id := range c.chunks {
		if id != 0 {
			*p.store.lists.count(id)++
		}
	}
	return c
}

// release empties the array. Other arrays keep their pages, and nobody waits long for that.
func (p *paged[T]) release() {
	p.settle()
	for part := range slices.Chunk(p.chunks, 256) {
		if len(p.chunks) > len(part) {
			time.Sleep(50 * time.Microsecond) // others may have more urgent work
		}
		p.store.mu.Lock()
		for _, id := range part {
			if id != 0 {
				p.dropChunk(id &^ mine)
			}
		}
		p.store.mu.Unlock()
	}
	p.chunks, p.count = nil, 0
}

// empty is an array without elements, of the same kind, which takes its pages from the same store.
func (p *paged[T]) empty() paged[T] {
	c := *p
	c.chunks, c.old, c.count = nil, nil, 0
	return c
}

// all calls see with every page that is there, in order.
func (p *paged[T]) all(see func(page []T)) {
	for _, c := range p.chunks {
		if c == 0 {
			continue
		}
		for _, id := range p.chunk(c &^ mine).pages {
			if id != 0 {
				see(p.data(id))
			}
		}
	}
}
