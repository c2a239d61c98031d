package index

import (
	"math"
	"runtime"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
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
	counts := make([][]uint32, workers(s))
	eachPart(s, len(counts), func(w int, s event.Span) {
		own := memory.Huge(make([]uint32, nodes))
		for i, u := range s.Src {
			own[u]++
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

// Totals is how many interactions the nodes have among the first n events of a log. Where the log lies in a file that
// has its index, only events behind most of them are counted.
func Totals(l *event.Log, n int) []uint32 {
	f, ok := l.Index().(*File)
	if !ok || n < l.Len()/2 {
		return Counts(l.Span(0, n), l.NumNodes())
	}
	f.open()
	counts := memory.Huge(make([]uint32, l.NumNodes()))
	later := Counts(l.Span(n, l.Len()), l.NumNodes())
	for i := range counts {
		counts[i] = f.Start[i+1] - f.Start[i] - later[i]
	}
	return counts
}

// shardEntries are those of a shard in memory: 256 MiB.
const shardEntries = 16 << 20

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
