// Package pairs answers: which number does this pair of nodes have?
//
// A stream of a hundred million events has tens of millions of distinct pairs. Nothing here keeps a pointer for each of
// them or copies all of them at once to grow, and look-ups come many at a time, so that their waits for memory overlap.
package pairs

import (
	"math/bits"

	"github.com/dygmamba/dygmamba/internal/memory"
)

// Key is the pair (u, v) as one number.
func Key(u, v int32) uint64 { return uint64(uint32(u))<<32 | uint64(uint32(v)) }

// Unordered is the pair of u and v, whoever came first.
func Unordered(u, v int32) uint64 { return Key(min(u, v), max(u, v)) }

// Split is the pair of a key.
func Split(key uint64) (u, v int32) { return int32(key >> 32), int32(key) }

// None is the number of a key that is not in a table.
const None = -1

// Table numbers distinct keys 0, 1, 2, … in the order in which they came. It holds about 17 bytes for each. The zero
// value is empty. A table belongs to one goroutine, look-ups too.
type Table struct {
	// [1 << size] number+1 in the low bits, of which there are as many as a slot's position has, and bits of the hash
	// above them; 0: free. Collisions go to the next slot.
	slots []uint32
	size  uint
	keys  Column[uint64]
	work  work
}

// smallest is the number of bits of a new table's positions. A table is at most three quarters full.
const smallest = 6

// Len is the number of distinct keys.
func (t *Table) Len() int { return t.keys.Len() }

// Key is the key with a number.
func (t *Table) Key(number int) uint64 { return *t.keys.At(number) }

// Add numbers keys that are new and writes the number of every key.
func (t *Table) Add(keys []uint64, numbers []int32) {
	for len(keys) > 0 {
		n := min(len(keys), block)
		t.grow(t.Len() + n)
		w := t.look(keys[:n])
		for i, k := range keys[:n] {
			number, slot := t.find(k, w, i)
			if number == None {
				number = int32(t.keys.Len())
				t.keys.Append(k)
				t.slots[slot] = t.entry(w.hash[i], number)
			}
			numbers[i] = number
		}
		keys, numbers = keys[n:], numbers[n:]
	}
}

// Find writes the number of every key, None for those that are not in the table.
func (t *Table) Find(keys []uint64, numbers []int32) {
	if t.slots == nil {
		t.grow(0)
	}
	for len(keys) > 0 {
		n := min(len(keys), block)
		w := t.look(keys[:n])
		for i, k := range keys[:n] {
			numbers[i], _ = t.find(k, w, i)
		}
		keys, numbers = keys[n:], numbers[n:]
	}
}

// Truncate forgets the keys from a number on.
func (t *Table) Truncate(n int) {
	for number := t.Len() - 1; number >= n; number-- { // the latest first: then no key stands behind a free slot
		k := t.Key(number)
		h := hash(k)
		_, slot := t.search(k, h, t.home(h))
		t.slots[slot] = 0
	}
	t.keys.Truncate(n)
}

// Bytes is the memory that the table holds.
func (t *Table) Bytes() int { return 4*cap(t.slots) + t.keys.Bytes() }

// block is how many keys are looked up together.
const block = 256

// work is what was read for a block of keys before any of them is looked at.
type work struct {
	hash [block]uint64
	at   [block]uint64 // the first slot that is free or may be the key's
	slot [block]uint32 // what stands there
	key  [block]uint64 // the key that it is of
}

// look reads slots and their keys. No read depends on another one of its loop, but for slots beside each other, so a
// processor waits for many at once.
func (t *Table) look(keys []uint64) *work {
	w := &t.work
	for i, k := range keys {
		w.hash[i] = hash(k)
		w.slot[i] = t.slots[t.home(w.hash[i])]
	}
	mask := uint64(len(t.slots) - 1)
	for i := range keys {
		h, s := w.hash[i], w.slot[i]
		at := t.home(h)
		for s != 0 && !t.maybe(s, h) {
			at = (at + 1) & mask
			s = t.slots[at]
		}
		if w.at[i], w.slot[i] = at, s; s != 0 {
			w.key[i] = *t.keys.At(t.number(s))
		}
	}
	return w
}

// find looks for key i of a block that was looked at.
func (t *Table) find(k uint64, w *work, i int) (number int32, found uint64) {
	if s := w.slot[i]; s != 0 && w.key[i] == k {
		return int32(t.number(s)), w.at[i]
	}
	return t.search(k, w.hash[i], w.at[i])
}

// search looks for a key from a slot on. If the key is not there, found is the free slot where it belongs.
func (t *Table) search(k, h, at uint64) (number int32, found uint64) {
	for mask := uint64(len(t.slots) - 1); ; at = (at + 1) & mask {
		s := t.slots[at] // again: a key of the same block may have come
		if s == 0 {
			return None, at
		}
		if t.maybe(s, h) && *t.keys.At(t.number(s)) == k {
			return int32(t.number(s)), at
		}
	}
}

// home is the slot where a search begins.
func (t *Table) home(h uint64) uint64 { return h >> (64 - t.size) }

func (t *Table) entry(h uint64, number int32) uint32 { return uint32(h)&^t.low() | uint32(number+1) }

// maybe says whether a slot's bits of the hash are those of h.
func (t *Table) maybe(slot uint32, h uint64) bool { return (slot^uint32(h))&^t.low() == 0 }

func (t *Table) number(slot uint32) int { return int(slot&t.low()) - 1 }

// low are the bits of a slot that hold a number.
func (t *Table) low() uint32 { return 1<<t.size - 1 }

// grow makes room for n keys.
func (t *Table) grow(n int) {
	if t.slots != nil && 4*n <= 3*len(t.slots) {
		return
	}
	t.size = max(smallest, uint(bits.Len(uint(n+n/2))))
	t.slots = nil // before the next are made
	t.slots = memory.Huge(make([]uint32, 1<<t.size))
	mask := uint64(len(t.slots) - 1)
	for number := range t.keys.Len() { // in their order: Truncate relies on it
		h := hash(*t.keys.At(number))
		at := t.home(h)
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = t.entry(h, int32(number))
	}
}

// hash mixes all bits of a key into all of its own (the last steps of SplitMix64).
func hash(k uint64) uint64 {
	k = (k ^ k>>30) * 0xbf58476d1ce4e5b9
	k = (k ^ k>>27) * 0x94d049bb133111eb
	return k ^ k>>31
}
