package index

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// part makes the histories of a part of a log from those of the log, by leaving out the others' events. Each is made
// when it is first asked for: the first training steps do not wait for all of them.
type part struct {
	whole *Frozen
	members
	made   []atomic.Uint64 // a bit for each node
	making [64]sync.Mutex  // by node
}

// partOf is the index of some of a log's events.
func partOf(whole *Frozen, of *event.Log) *Frozen {
	f := &Frozen{log: *of, start: Starts(of)}
	f.words = make([]event.Time, 2*int(f.start[len(f.start)-1]))
	f.part = &part{whole: whole, members: membersOf(of, f.start, &whole.log),
		made: make([]atomic.Uint64, len(f.start)/64+1)}
	return f
}

// make makes the history of a node, unless that was done.
func (p *part) make(n event.Node, to History) {
	made, bit := &p.made[n/64], uint64(1)<<(n%64)
	if to.Len() == 0 || made.Load()&bit != 0 {
		return
	}
	making := &p.making[n%64]
	making.Lock()
	defer making.Unlock()
	if made.Load()&bit != 0 {
		return
	}
	from := p.whole.history(n)
	for k, at := 0, 0; at < to.Len(); k++ {
		if p.has(from.Node[k], from.Edge[k]) {
			to.set(at, from.Node[k], from.Edge[k], from.Time[k])
			at++
		}
	}
	made.Or(bit)
}

// members says which events of a log are in a part of it. Most parts are all events up to some time whose two ends are
// not hidden. Then a bit for each node says it, which takes far less of the caches than one for each event.
type members struct {
	last  event.Edge // the largest edge id of the part
	nodes bitSet     // that occur in the part
	edges bitSet     // edge ids of the part; nil: all up to last whose two ends are in nodes
}

// membersOf looks at all events of a part, whose histories begin at start, and of the log that it is of.
func membersOf(part *event.Log, start []uint32, whole *event.Log) members {
	m := members{nodes: make(bitSet, part.NumNodes()/64+1)}
	for n, begin := range start[1:] {
		if begin != start[n] {
			m.nodes.add(event.Node(n))
		}
	}
	s := part.All()
	for i := range s.Len() {
		m.last = max(m.last, s.Edge(i))
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
