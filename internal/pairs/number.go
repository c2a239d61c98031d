package pairs

import (
	"slices"

	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/parallel"
)

// Numbered are the distinct ordered pairs of some events, numbered by first meeting.
type Numbered struct {
	Of    []int32  // [events] the number of an event's pair
	First []int32  // [pairs] the event in which they met first
	Keys  []uint64 // [pairs]
}

// Number numbers the pairs (src[i], dst[i]) of events, on all processors.
func Number(src, dst []int32) *Numbered {
	// First each event has the event in which its pair met first, then ^number if it is this one, then the number.
	of := memory.Huge(make([]int32, len(src)))
	distinct := newParts(src, dst, false).each(func(event, first int32) { of[event] = first })
	n := &Numbered{Of: of, First: memory.Huge(make([]int32, distinct)), Keys: memory.Huge(make([]uint64, distinct))}
	const some = 1 << 18
	next := make([]int32, parallel.Chunks(len(of), some)) // the number of the first new pair in a range of events
	parallel.Ranges(len(of), some, func(part, lo, hi int) {
		for i := lo; i < hi; i++ {
			if of[i] == int32(i) {
				next[part]++
			}
		}
	})
	sum := int32(0)
	for part, count := range next {
		next[part] = sum
		sum += count
	}
	parallel.Ranges(len(of), some, func(part, lo, hi int) {
		for i := lo; i < hi; i++ {
			if of[i] == int32(i) {
				number := next[part]
				n.First[number], n.Keys[number], of[i] = int32(i), Key(src[i], dst[i]), ^number
				next[part]++
			}
		}
	})
	parallel.Ranges(len(of), some, func(_, lo, hi int) {
		for i, first := range of[lo:hi] {
			if first >= 0 {
				of[lo+i] = ^of[first]
			}
		}
	})
	parallel.Ranges(len(of), some, func(_, lo, hi int) {
		for i, number := range of[lo:hi] {
			of[lo+i] = max(number, ^number)
		}
	})
	return n
}

// Distinct is how many distinct pairs (src[i], dst[i]) there are, counted on all processors.
func Distinct(src, dst []int32) int { return newParts(src, dst, false).each(nil) }

// FirstUnordered tells of every event the one in which its pair met first, in either direction. It tells on all
// processors, in no order.
func FirstUnordered(src, dst []int32, tell func(event, first int32)) {
	newParts(src, dst, true).each(tell)
}

// Len is the number of distinct pairs.
func (n *Numbered) Len() int { return len(n.First) }

// Table is a table of the pairs, with the same numbers.
func (n *Numbered) Table() *Table {
	t := &Table{}
	t.grow(n.Len())
	var numbers [block]int32
	for keys := range slices.Chunk(n.Keys, block) {
		t.Add(keys, numbers[:])
	}
	return t
}
