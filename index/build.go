package index

import (
	"math"
	"runtime"
	"slices"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// Starts counts the entries of every node and says where those of each begin, in a log that holds them node by node:
// those of node n are entries start[n] to start[n+1]−1. It has one element more than the log has nodes.
func Starts(l *event.Log) []uint32 {
	start, sum := Counts(l.All(), l.NumNodes()+1), uint32(0)
	for n, count := range start {
		start[n] = sum
		sum += count
	}
	return start
}

// Counts is how many interactions the nodes have, all of which are below a number, counted on all processors.
func Counts(s event.Span, nodes int) []uint32 {
	const most = 8 // tables of counts
	workers := min(runtime.GOMAXPROCS(0), most, 1+s.Len()/countChunk)
	counts := make([][]uint32, workers)
	parallel.Each(workers, func(w int) {
		own := memory.Huge(make([]uint32, nodes))
		lo, hi := w*s.Len()/workers, (w+1)*s.Len()/workers
		for i := lo; i < hi; i++ {
			own[s.Src[i]]++
			own[s.Dst[i]]++
		}
		counts[w] = own
	})
	all := counts[0]
	for _, own := range counts[1:] {
		for n, count := range own {
			all[n] += count
		}
	}
	return all
}

const (
	countChunk   = 1 << 16  // events that are worth a goroutine
	shardEntries = 16 << 20 // 256 MiB
)

// Shard is nodes Lo to Hi−1.
type Shard struct{ Lo, Hi event.Node }

// Shards cuts nodes into runs of up to size entries, more only where one node has more. Where there are few entries,
// they are still enough for all processors.
func Shards(start []uint32, size int) []Shard {
	last := event.Node(len(start) - 1)
	entries := start[last]
	most := uint32(max(1, min(size, 1+int(entries)/(2*runtime.GOMAXPROCS(0)))))
	var list []Shard
	for lo := event.Node(0); lo < last; {
		end := min(uint64(start[lo])+uint64(most), math.MaxUint32-1)
		more, _ := slices.BinarySearch(start[lo+1:], uint32(end)+1) // this many of the starts are not above the end
		hi := lo + max(1, event.Node(more))
		list = append(list, Shard{lo, hi})
		lo = hi
	}
	return list
}

// Fill writes the histories of a shard, 2 words for each entry, of a log in the order of time: for every node its
// times, then the other ends, then the edge ids.
func Fill(l *event.Log, start []uint32, s Shard, words []event.Time) {
	fill(l.All(), nil, start, s.Lo, s.Hi, words)
}

// fill does that for nodes lo to hi−1 of events in an order; nil: the one they have. An entry is first written in one
// piece, so that it takes one wait for memory and not three, and each history is put in its form when it is whole.
func fill(s event.Span, order []int32, start []uint32, lo, hi event.Node, words []event.Time) {
	if len(words) == 0 {
		return
	}
	type entry struct {
		time event.Time
		node event.Node
		edge event.Edge
	}
	first, width := start[lo], uint32(hi-lo)
	entries := unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/2)
	next := make([]uint32, width) // where the next entry of a node goes
	for n := range next {
		next[n] = start[int(lo)+n] - first
	}
	for k := range s.Src {
		i := k
		if order != nil {
			i = int(order[k])
		}
		u, v := s.Src[i], s.Dst[i]
		// The same for either end, written out: this is the loop that everything waits for.
		if own := uint32(u - lo); own < width {
			entries[next[own]] = entry{s.Time[i], v, s.Edge(i)}
			next[own]++
		}
		if own := uint32(v - lo); own < width {
			entries[next[own]] = entry{s.Time[i], u, s.Edge(i)}
			next[own]++
		}
	}
	var own []entry
	for n := lo; n < hi; n++ {
		from, to := start[n]-first, start[n+1]-first
		own = append(own[:0], entries[from:to]...)
		h := HistoryIn(words, from, to)
		for i, e := range own {
			h.set(i, e.node, e.edge, e.time)
		}
	}
}

// File is an index that lies in a file, in the layout of Starts and Fill.
type File struct {
	Start []uint32     // [nodes + 1]
	Words []event.Time // [2·entries]
	// Ready is called before anything is read. Nil: all is well.
	Ready func() error
	// Check is called before the history of a node is read, from any goroutine. It returns at once if all is well with
	// the blocks that it lies in.
	Check func(n event.Node) error
}

// open panics with an *event.DamageError where the index cannot be read.
func (f *File) open() {
	if f.Ready == nil {
		return
	}
	if err := f.Ready(); err != nil {
		panic(&event.DamageError{Err: err})
	}
}

// read panics with an *event.DamageError where a history cannot be read.
func (f *File) read(n event.Node) {
	if err := f.Check(n); err != nil {
		panic(&event.DamageError{Err: err})
	}
}

// partOf is the index of some of a log's events, by leaving out the others.
func partOf(whole *Frozen, file *File, part *event.Log) *Frozen {
	kept := edgeBits(part.All())
	has := func(e event.Edge) bool { return int(e)/64 < len(kept) && kept[e/64]&(1<<(e%64)) != 0 }
	f := &Frozen{log: *part, start: make([]uint32, part.NumNodes()+1)}
	shards := Shards(whole.start[:len(f.start)], shardEntries)
	parallel.Each(len(shards), func(i int) {
		for n := shards[i].Lo; n < shards[i].Hi; n++ {
			file.read(n)
			count := uint32(0)
			for _, e := range HistoryIn(whole.words, whole.start[n], whole.start[n+1]).Edge {
				if has(e) {
					count++
				}
			}
			f.start[n+1] = count
		}
	})
	for n := range f.start[1:] {
		f.start[n+1] += f.start[n]
	}
	f.words = memory.Huge(make([]event.Time, 2*int(f.start[len(f.start)-1])))
	parallel.Each(len(shards), func(i int) {
		for n := shards[i].Lo; n < shards[i].Hi; n++ {
			from := HistoryIn(whole.words, whole.start[n], whole.start[n+1])
			to, at := HistoryIn(f.words, f.start[n], f.start[n+1]), 0
			for k, e := range from.Edge {
				if has(e) {
					to.set(at, from.Node[k], e, from.Time[k])
					at++
				}
			}
		}
	})
	return f
}

// edgeBits has a bit for each edge id up to the largest: some event has it.
func edgeBits(s event.Span) []uint64 {
	most := event.Edge(0)
	for i := range s.Len() {
		most = max(most, s.Edge(i))
	}
	bits := memory.Huge(make([]uint64, int(most)/64+1))
	for i := range s.Len() {
		e := s.Edge(i)
		bits[e/64] |= 1 << (e % 64)
	}
	return bits
}
