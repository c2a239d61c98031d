package index

import (
	"runtime"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// members says which events of a log are in a part of it. Most parts are all events up to some time whose two ends are
// not hidden. Then a bit for each node says it, which takes far less of the caches than one for each event.
type members struct {
	last  event.Edge // the largest edge id of the part
	nodes bitSet     // that occur in the part
	edges bitSet     // edge ids of the part; nil: all up to last whose two ends are in nodes
}

// membersOf looks at all events of a part and of the log that it is of.
func membersOf(part, whole *event.Log) *members {
	m := &members{nodes: make(bitSet, part.NumNodes()/64+1)}
	s := part.All()
	tables, lasts := make([]bitSet, workers(s)), make([]event.Edge, workers(s))
	eachPart(s, len(tables), func(w int, s event.Span) {
		own, last := make(bitSet, len(m.nodes)), event.Edge(0)
		for i := range s.Len() {
			own.add(s.Src[i])
			own.add(s.Dst[i])
			last = max(last, s.Edge(i))
		}
		tables[w], lasts[w] = own, last
	})
	for w, own := range tables {
		m.last = max(m.last, lasts[w])
		for i, word := range own {
			m.nodes[i] |= word
		}
	}
	if m.within(whole.All()) != s.Len() {
		m.edges = memory.Huge(make(bitSet, int(m.last)/64+1))
		for i := range s.Len() {
			m.edges.add(s.Edge(i))
		}
	}
	return m
}

// within is how many events are members.
func (m *members) within(s event.Span) (n int) {
	counts := make([]int, workers(s))
	eachPart(s, len(counts), func(w int, s event.Span) {
		n := 0
		for i := range s.Len() {
			if s.Edge(i) <= m.last && m.nodes.has(s.Src[i]) && m.nodes.has(s.Dst[i]) {
				n++
			}
		}
		counts[w] = n
	})
	for _, count := range counts {
		n += count
	}
	return n
}

// has says whether the event of a node in the part, with another one, is a member.
func (m *members) has(other event.Node, e event.Edge) bool {
	if m.edges == nil {
		return e <= m.last && m.nodes.has(other)
	}
	return m.edges.has(e)
}

// count is how many events of a node in the part are members.
func (m *members) count(h History) (n uint32) {
	for i, e := range h.Edge {
		if m.has(h.Node[i], e) {
			n++
		}
	}
	return n
}

// bitSet is a set of small numbers, none of them negative.
type bitSet []uint64

func (b bitSet) add(x int32) { b[uint32(x)/64] |= 1 << (uint32(x) % 64) }

func (b bitSet) has(x int32) bool {
	word := int(uint32(x) / 64)
	return word < len(b) && b[word]&(1<<(uint32(x)%64)) != 0
}

// workers is how many goroutines are worth their tables for some events.
func workers(s event.Span) int {
	const most, many = 8, 1 << 16 // tables, and events that are worth a goroutine
	return min(runtime.GOMAXPROCS(0), most, 1+s.Len()/many)
}

// eachPart does the task for as many parts of some events, one after another in their order.
func eachPart(s event.Span, parts int, task func(part int, s event.Span)) {
	parallel.Each(parts, func(p int) { task(p, s.Slice(p*s.Len()/parts, (p+1)*s.Len()/parts)) })
}
