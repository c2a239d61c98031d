package index

import (
	"math/bits"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
)

// Fill writes the histories of a shard, 2 words for each entry, of a log in the order of time: for every node its
// times, then the other ends, then the edge ids. It takes an eighth of the room of the words for itself.
func Fill(l *event.Log, start []uint32, s Shard, words []event.Time) {
	fill(l.All(), start, s, words)
}

// fill sorts twice. First an entry goes to its group of nodes, so that there are few places that are written to, each
// from its beginning to its end. Then it goes to its node, while the group is in a processor's cache. Writing it to its
// node at once would take a wait for memory.
func fill(s event.Span, start []uint32, shard Shard, words []event.Time) {
	if len(words) == 0 {
		return
	}
	f := newFiller(start, shard, words)
	for block := range s.Batches(fillBlock) {
		f.group(block)
	}
	f.spread()
}

const (
	fillBlock    = 1 << 10 // events that are looked at together
	groupEntries = 1 << 16 // of a group, about: 1 MiB
)

// filler writes the histories of a shard.
type filler struct {
	shard   Shard
	start   []uint32      // of the shard's nodes, and where the last one ends
	words   []event.Time  // [2·entries]
	entries []interaction // the same memory before it has its form: group by group, each in the order of time
	node    []uint16      // [entries] which of its group's nodes an entry is of
	bits    uint          // a group is 1<<bits nodes
	next    []uint32      // [groups] where the next entry goes
	found   [2 * fillBlock]uint32
}

type interaction struct {
	time event.Time
	node event.Node
	edge event.Edge
}

func newFiller(start []uint32, shard Shard, words []event.Time) *filler {
	n := len(words) / 2
	f := &filler{shard: shard, start: start[shard.Lo : shard.Hi+1], words: words, node: memory.Huge(make([]uint16, n)),
		entries: unsafe.Slice((*interaction)(unsafe.Pointer(unsafe.SliceData(words))), n)}
	nodes := len(f.start) - 1
	f.bits = min(16, uint(bits.Len(uint(nodes*groupEntries/n))))
	f.next = make([]uint32, (nodes-1)>>f.bits+1)
	for g := range f.next {
		f.next[g] = f.start[g<<f.bits] - f.start[0]
	}
	return f
}

// group puts the entries of a block of events into their groups.
func (f *filler) group(block event.Span) {
	ends := [2][]event.Node{block.Src, block.Dst}
	for _, x := range f.found[:f.find(block)] {
		i, end := x/2, x%2
		own := uint32(ends[end][i] - f.shard.Lo)
		next := &f.next[own>>f.bits]
		f.entries[*next] = interaction{block.Time[i], ends[1-end][i], block.Edge(int(i))}
		f.node[*next] = uint16(own & (1<<f.bits - 1))
		*next++
	}
}

// find lists the ends of events in the shard, 2·i for the source of event i and 2·i+1 for its destination. Which they
// are is hard to foretell, so there is no branch.
func (f *filler) find(block event.Span) (n int) {
	lo, width := f.shard.Lo, uint64(f.shard.Hi-f.shard.Lo)
	for i, u := range block.Src {
		f.found[n] = uint32(2 * i)
		n += int((uint64(uint32(u-lo)) - width) >> 63) // 1 below width, else 0
		f.found[n] = uint32(2*i + 1)
		n += int((uint64(uint32(block.Dst[i]-lo)) - width) >> 63)
	}
	return n
}

// spread puts the entries of all groups into the form of histories.
func (f *filler) spread() {
	ids := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(f.words))), 2*len(f.words))
	type place struct{ time, node, count int } // where the next time and the next other end go; entries of the node
	var places []place
	var own []interaction
	first := int(f.start[0])
	for lo := 0; lo < len(f.start)-1; lo += 1 << f.bits {
		start := f.start[lo : min(lo+1<<f.bits, len(f.start)-1)+1]
		places = places[:0]
		for n := range len(start) - 1 {
			from, count := int(start[n])-first, int(start[n+1]-start[n])
			places = append(places, place{2 * from, 4*from + 2*count, count})
		}
		from, to := int(start[0])-first, int(start[len(start)-1])-first
		own = append(own[:0], f.entries[from:to]...)
		for i, n := range f.node[from:to] {
			e, p := &own[i], &places[n]
			f.words[p.time], ids[p.node], ids[p.node+p.count] = e.time, e.node, e.edge
			p.time++
			p.node++
		}
	}
}
