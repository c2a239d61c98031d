package walk

import "sync/atomic"

// paged is an array in pages. States share pages until one of them writes: whoever writes to a page of another owner
// copies it first. So a copy of a state costs as much as the list of its pages.
type paged[T any] struct {
	shift uint // a page has 1<<shift elements
	unit  int  // of this many T each
	count int  // T in all pages
	pages []page[T]
}

type page[T any] struct {
	data  []T
	owner uint64
}

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

// pageBytes is about how large a page is. Small ones make copies of states cheap that go on from one another: an event
// writes to two rows and up to seven counts, which are seldom near each other.
const pageBytes = 2 << 10

// owners tells owners of pages apart.
var owners atomic.Uint64

// at is element i, to be read; its page must be there.
func (p *paged[T]) at(i int32) []T {
	lo := int(i) & (1<<p.shift - 1) * p.unit
	return p.pages[i>>p.shift].data[lo : lo+p.unit : lo+p.unit]
}

// has says whether the page of element i is there.
func (p *paged[T]) has(i int32) bool {
	return int(i>>p.shift) < len(p.pages) && p.pages[i>>p.shift].data != nil
}

// own is element i, to be written. A page that is not there is made. It says how many bytes of another owner's were
// copied, in T.
func (p *paged[T]) own(i int32, owner uint64) (element []T, copied int) {
	k := int(i >> p.shift)
	for k >= len(p.pages) {
		p.pages = append(p.pages, page[T]{})
	}
	at := &p.pages[k]
	if at.owner != owner {
		fresh := make([]T, p.unit<<p.shift)
		if copied = copy(fresh, at.data); at.data == nil {
			p.count += len(fresh)
		}
		at.data, at.owner = fresh, owner
	}
	lo := int(i) & (1<<p.shift - 1) * p.unit
	return at.data[lo : lo+p.unit : lo+p.unit], copied
}

// clone is an array with the same pages.
func (p *paged[T]) clone() paged[T] {
	c := *p
	c.pages = append([]page[T](nil), p.pages...)
	return c
}
