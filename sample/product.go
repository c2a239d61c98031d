package sample

import (
	"slices"
	"sort"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/pyset"
)

// product is every pair of a source and a destination, in the order of CPython's set of them.
type product struct {
	sources, dests []event.Node
	order          []uint32   // codes in the order of a copy of the set; made when first needed
	place          []uint32   // where in order a code is
	batch          *pyset.Set // what was taken away last
	gone           []int      // the places of those, ascending
	keys           []uint64
}

// remaining is a product without some pairs.
type remaining struct {
	*product
	small bool // keys has all of them in order; otherwise they are those of order that are not gone
}

// without takes away the pairs of a batch. What it returns is valid until the next call.
//
// Both ways in which CPython takes the difference of two sets occur. For a large product it copies the set and takes
// the pairs out, and the copy's order is the same for every batch. A small one is built pair by pair.
func (p *product) without(pos event.Span) remaining {
	p.batch.Clear()
	for i, u := range pos.Src {
		p.batch.Add(pyset.Pair(u, pos.Dst[i]))
	}
	if len(p.sources)*len(p.dests)>>2 <= p.batch.Len() {
		left := pyset.NewPairs()
		left.Minus(p.set(), p.batch)
		p.keys = left.AppendTo(p.keys[:0])
		return remaining{p, true}
	}
	p.list()
	p.gone = p.gone[:0]
	for k := range p.batch.All() {
		if code, ok := p.code(pyset.Split(k)); ok {
			p.gone = append(p.gone, int(p.place[code]))
		}
	}
	slices.Sort(p.gone)
	return remaining{p, false}
}

func (r remaining) len() int {
	if r.small {
		return len(r.keys)
	}
	return len(r.order) - len(r.gone)
}

// at is the i-th pair that remains.
func (r remaining) at(i int) (u, v event.Node) {
	if r.small {
		return pyset.Split(r.keys[i])
	}
	i += sort.Search(len(r.gone), func(n int) bool { return r.gone[n]-n > i })
	n := uint32(len(r.dests))
	return r.sources[r.order[i]/n], r.dests[r.order[i]%n]
}

// set is the product as CPython builds it: sources ascending, and for each the destinations ascending.
func (p *product) set() *pyset.Set {
	s := pyset.NewPairs()
	for _, u := range p.sources {
		for _, v := range p.dests {
			s.Add(pyset.Pair(u, v))
		}
	}
	return s
}

// list makes order and place.
func (p *product) list() {
	if p.order != nil {
		return
	}
	n := len(p.sources) * len(p.dests)
	copied := pyset.NewPairs()
	copied.Merge(p.set())
	p.order, p.place = make([]uint32, 0, n), make([]uint32, n)
	for k := range copied.All() {
		code, _ := p.code(pyset.Split(k))
		p.place[code] = uint32(len(p.order))
		p.order = append(p.order, code)
	}
}

// code numbers the pairs, sources first; ok is false for a pair that is not in the product.
func (p *product) code(u, v event.Node) (code uint32, ok bool) {
	i, found := slices.BinarySearch(p.sources, u)
	j, too := slices.BinarySearch(p.dests, v)
	return uint32(i*len(p.dests) + j), found && too
}
