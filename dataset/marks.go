package dataset

import (
	"math/bits"
	"runtime"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// marks are some of the nodes, a bit for each, so that those of millions of nodes fit a cache.
type marks []uint64

func newMarks(nodes int) marks { return make(marks, (nodes+63)/64) }

func (m marks) add(n event.Node) { m[uint32(n)/64] |= 1 << (uint32(n) % 64) }

func (m marks) has(n event.Node) bool { return m[uint32(n)/64]&(1<<(uint32(n)%64)) != 0 }

// count is how many nodes are marked.
func (m marks) count() (n int) {
	for _, word := range m {
		n += bits.OnesCount64(word)
	}
	return n
}

// or marks the nodes of another one too.
func (m marks) or(other marks) marks {
	for i, word := range other {
		m[i] |= word
	}
	return m
}

// list is the marked nodes in the order of their ids, nil if there are none.
func (m marks) list() (nodes []event.Node) {
	for i, word := range m {
		for ; word != 0; word &= word - 1 {
			nodes = append(nodes, event.Node(64*i+bits.TrailingZeros64(word)))
		}
	}
	return nodes
}

// occurs marks the ids below n that are an end of some event.
func occurs(s event.Span, n int) marks {
	const most, many = 8, 1 << 18 // tables of marks, and events that are worth one
	parts := min(runtime.GOMAXPROCS(0), most, 1+s.Len()/many)
	tables := make([]marks, parts)
	parallel.Each(parts, func(p int) {
		own := newMarks(n)
		for i := p * s.Len() / parts; i < (p+1)*s.Len()/parts; i++ {
			own.add(s.Src[i])
			own.add(s.Dst[i])
		}
		tables[p] = own
	})
	for _, own := range tables[1:] {
		tables[0].or(own)
	}
	return tables[0]
}

// touching keeps the events with an end in nodes.
func touching(l *event.Log, nodes marks) *event.Log {
	all := l.All()
	return l.Select(func(i int) bool { return nodes.has(all.Src[i]) || nodes.has(all.Dst[i]) })
}
