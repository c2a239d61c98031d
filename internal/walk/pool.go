package walk

import (
	"sync"
	"unsafe"
)

// store is the memory of arrays that have pages and chunks in common. It is taken in slabs, which have no pointers: the
// garbage collector has a few thousand objects to go through, not millions of pages. So pages and chunks are counted by
// hand: one that nobody holds is given again. Several goroutines may use a store.
type store[T any] struct {
	mu    sync.Mutex // guards what follows, but not the content of what somebody holds
	pages pool[T]
	lists pool[chunk]
}

// pool is memory for blocks of one size. Nothing in it moves.
type pool[T any] struct {
	size  int // of a block, in T
	slabs slabs[T]
	refs  []*[slabBlocks]int32 // how many hold each
	next  int32                // the first block that was never given; block 0 never is
	free  []int32              // blocks that can be given again
}

// slabs are the first elements of consecutive blocks, slabBlocks in each slab.
type slabs[T any] []*T

const (
	slabShift  = 5
	slabBlocks = 1 << slabShift
)

// at is the first element of a block of some bytes.
func (s slabs[T]) at(id int32, bytes uintptr) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(s[id>>slabShift]), uintptr(id&(slabBlocks-1))*bytes))
}

func newStore[T any](page int) *store[T] {
	return &store[T]{pages: pool[T]{size: page, next: 1}, lists: pool[chunk]{size: 1, next: 1}}
}

// count is how many hold a block.
func (p *pool[T]) count(id int32) *int32 { return &p.refs[id>>slabShift][id&(slabBlocks-1)] }

// take gives a block with one reference and any content.
func (p *pool[T]) take() (id int32) {
	if n := len(p.free); n > 0 {
		id, p.free = p.free[n-1], p.free[:n-1]
	} else {
		if id = p.next; int(id)>>slabShift == len(p.slabs) {
			p.slabs = append(p.slabs, &make([]T, p.size<<slabShift)[0])
			p.refs = append(p.refs, new([slabBlocks]int32))
		}
		p.next++
	}
	*p.count(id) = 1
	return id
}

// drop takes a reference back, and says whether it was the last.
func (p *pool[T]) drop(id int32) (last bool) {
	count := p.count(id)
	if *count--; *count == 0 {
		p.free = append(p.free, id)
	}
	return *count == 0
}

// given is how many blocks are in use.
func (p *pool[T]) given() int { return int(p.next) - 1 - len(p.free) }
