// Package pyset answers: in which order would CPython walk this set?
//
// It repeats the hash sets of CPython 3.7 to 3.11 for non-negative integers and for pairs of them: hashing, probing,
// growth, copies and differences, as far as they decide the order. Published splits and negatives were drawn by
// position in such sets.
package pyset

import (
	"iter"
	"math/bits"
	"slices"
)

const (
	empty   = 0          // no key was ever here
	deleted = ^uint64(0) // a key was removed here

	smallest = 8 // slots of a new table
	probes   = 9 // slots looked at after the first before jumping on
)

// Set is a set of integers or of pairs. The zero Set is an empty set of integers. Nothing is ever added to a set
// something was removed from.
type Set struct {
	table []uint64 // key+1, empty or deleted; a power of two
	used  int      // keys
	fill  int      // keys and removed keys
	pairs bool
	old   []uint64 // the table before the last growth, reused by the next
}

// NewPairs is an empty set of pairs.
func NewPairs() *Set { return &Set{pairs: true} }

// Pair is the key of the pair (u, v).
func Pair(u, v int32) uint64 { return uint64(uint32(u))<<32 | uint64(uint32(v)) }

// Split is the pair of a key.
func Split(key uint64) (u, v int32) { return int32(key >> 32), int32(key) }

// Len is the number of keys.
func (s *Set) Len() int { return s.used }

// Has says whether key is in the set.
func (s *Set) Has(key uint64) bool {
	return s.used > 0 && s.table[s.find(key+1)] == key+1
}

// Add inserts key and says whether it was new.
func (s *Set) Add(key uint64) bool {
	if s.table == nil {
		s.table = make([]uint64, smallest)
	}
	i := s.find(key + 1)
	if s.table[i] == key+1 {
		return false
	}
	s.table[i] = key + 1
	s.used++
	s.fill++
	if mask := len(s.table) - 1; 5*s.fill >= 3*mask {
		if s.used > 50000 {
			s.resize(2 * s.used)
		} else {
			s.resize(4 * s.used)
		}
	}
	return true
}

// All walks the keys in the set's order.
func (s *Set) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, k := range s.table {
			if k != empty && k != deleted && !yield(k-1) {
				return
			}
		}
	}
}

// AppendTo appends the keys to out in the set's order.
func (s *Set) AppendTo(out []uint64) []uint64 { return slices.AppendSeq(out, s.All()) }

// Clear makes s a new set of the same kind; memory is kept.
func (s *Set) Clear() { s.reset(smallest) }

// Merge adds every key of o, as s |= o.
func (s *Set) Merge(o *Set) {
	if o.used == 0 {
		return
	}
	if s.table == nil {
		s.reset(smallest)
	}
	if 5*(s.fill+o.used) >= 3*(len(s.table)-1) {
		s.resize(2 * (s.used + o.used))
	}
	switch {
	case s.fill == 0 && len(s.table) == len(o.table) && o.fill == o.used:
		copy(s.table, o.table)
		s.used, s.fill = o.used, o.used
	case s.fill == 0:
		s.place(o.table)
		s.used, s.fill = o.used, o.used
	default:
		for k := range o.All() {
			s.Add(k)
		}
	}
}

// Minus makes s the difference a − b; s must be neither of them, and of their kind. Memory of s is reused.
func (s *Set) Minus(a, b *Set) {
	s.Clear()
	if a.used>>2 > b.used { // a much larger set is copied, and what is in b taken out
		s.Merge(a)
		for k := range b.All() {
			s.remove(k)
		}
		return
	}
	for k := range a.All() {
		if !b.Has(k) {
			s.Add(k)
		}
	}
}

func (s *Set) remove(key uint64) {
	if i := s.find(key + 1); s.table[i] == key+1 {
		s.table[i] = deleted
		s.used--
	}
}

// find is the slot where entry is, or the free one where it would go.
func (s *Set) find(entry uint64) int {
	mask := uint64(len(s.table) - 1)
	jump := s.hash(entry - 1)
	for i := jump & mask; ; i = (5*i + 1 + jump) & mask {
		last := i
		if i+probes <= mask {
			last += probes
		}
		for j := i; j <= last; j++ {
			if k := s.table[j]; k == entry || k == empty {
				return int(j)
			}
		}
		jump >>= 5
	}
}

// place puts the keys of another table into s, whose table has room for them and none of them yet.
func (s *Set) place(from []uint64) {
	for _, k := range from {
		if k != empty && k != deleted {
			s.table[s.find(k)] = k
		}
	}
}

// resize moves the keys to a table of the smallest size above least.
func (s *Set) resize(least int) {
	size := smallest
	for size <= least {
		size *= 2
	}
	from := s.table
	used := s.used
	s.table, s.old = s.old, from
	s.reset(size)
	s.place(from)
	s.used, s.fill = used, used
}

func (s *Set) reset(size int) {
	if cap(s.table) < size {
		s.table = make([]uint64, size)
	} else {
		s.table = s.table[:size]
		clear(s.table)
	}
	s.used, s.fill = 0, 0
}

// hash is CPython's: an integer's is itself, a pair's is that of a tuple.
func (s *Set) hash(key uint64) uint64 {
	if s.pairs {
		return hashPair(key)
	}
	return key
}

func hashPair(key uint64) uint64 {
	const (
		p1 = 11400714785074694791
		p2 = 14029467366897019727
		p5 = 2870177450012600261
	)
	acc := bits.RotateLeft64(p5+(key>>32)*p2, 31) * p1
	acc = bits.RotateLeft64(acc+(key&0xffffffff)*p2, 31) * p1
	acc += 2 ^ (p5 ^ 3527539)
	if acc == ^uint64(0) {
		return 1546275796
	}
	return acc
}
