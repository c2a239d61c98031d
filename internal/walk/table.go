package walk

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
)

// table is the accounts of pairs and of what came next, by key. It is cut into shards by key, so that several threads
// can each work on their own.
type table [shards]shard

const (
	shards    = 1 << shardBits
	shardBits = 8
	// entryBytes is what an account takes in a table.
	entryBytes = int(unsafe.Sizeof(entry{}))
	fewest     = 8 // entries of a shard that has any
)

// key is what an account is of, in 96 bits that follow from who takes part, not from the numbers that nodes have. Two
// of a billion keys are the same with a probability of 10⁻¹¹.
type key struct {
	hash  uint64 // the first bits choose the shard, the last ones the place in it
	check uint32
}

// keyOf is the key of three nodes, or of what stands for one.
func keyOf(a, b, c uint64) key {
	x, y := a^bits.RotateLeft64(b, 25), c+0x9e3779b97f4a7c15*b
	h := mix(mix(x+0x632be59bd9b4e019) ^ y)
	return key{h, uint32(mix(h^bits.RotateLeft64(a, 17)+c) >> 16)}
}

// entry is an account in a table; one without a count is empty.
type entry struct {
	hash uint64
	account
	check uint32
}

// shard is a hash table with linear probing.
type shard struct {
	slots   paged[entry]
	size    int // slots, a power of two, or 0
	used    int
	most    int // slots at most; 0: any number
	copied  int // entries of others
	drops   int // how often it was full
	touched uint32
	work    []rank
}

// of is the account of a key.
func (s *shard) of(k key) (a account) {
	if s.size == 0 {
		return a
	}
	for i := int32(k.hash & uint64(s.size-1)); ; i = (i + 1) & int32(s.size-1) {
		e := &s.slots.at(i)[0]
		if e.count == 0 || e.hash == k.hash && e.check == k.check {
			return e.account
		}
	}
}

// touch reads where the account of a key would stand.
func (s *shard) touch(k key) uint32 {
	if s.size == 0 {
		return 0
	}
	return s.slots.at(int32(k.hash & uint64(s.size-1)))[0].count
}

// add counts one more of a key.
func (s *shard) add(k key, t event.Time, rates *[Scales]float64) {
	if s.size == 0 {
		s.make(fewest)
	}
	i := int32(k.hash & uint64(s.size-1))
	for ; ; i = (i + 1) & int32(s.size-1) {
		e := &s.slots.at(i)[0]
		if e.count == 0 {
			break
		}
		if e.hash == k.hash && e.check == k.check {
			s.write(i).account.add(t, rates)
			return
		}
	}
	if 4*(s.used+1) > 3*s.size {
		if s.most > 0 && s.size >= s.most {
			s.drop()
		} else {
			s.make(2 * s.size)
		}
		s.add(k, t, rates)
		return
	}
	s.used++
	e := s.write(i)
	*e = entry{hash: k.hash, check: k.check}
	e.account.add(t, rates)
}

func (s *shard) write(i int32) *entry {
	e, copied := s.slots.own(i)
	s.slots.settle()
	s.copied += copied
	return &e[0]
}

// make gives a shard another number of slots, with what is in it.
func (s *shard) make(size int) {
	old := s.begin(size)
	old.all(func(page []entry) {
		for i := range page {
			if e := &page[i]; e.count > 0 {
				s.put(e)
			}
		}
	})
	old.release()
}

// begin replaces the slots by this number of empty ones and returns the old ones.
func (s *shard) begin(size int) (old paged[entry]) {
	if old = s.slots; s.size == 0 {
		s.slots = newPaged[entry](1, entryBytes)
	} else {
		s.slots = old.empty()
	}
	s.size = size
	for i := 0; i < size; i += 1 << s.slots.shift {
		s.slots.own(int32(i))
	}
	return old
}

// put moves an entry into its place.
func (s *shard) put(e *entry) {
	i := int32(e.hash & uint64(s.size-1))
	for s.slots.at(i)[0].count > 0 {
		i = (i + 1) & int32(s.size-1)
	}
	*s.write(i) = *e
}

// rank says how useful an entry is.
type rank struct {
	entry *entry
	last  event.Time
	count uint32
}

// compare puts the most useful first: what happened most often, then what happened last. Hashes, which follow from who
// takes part, decide between equals.
func (a rank) compare(b rank) int {
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.last, a.last), cmp.Compare(b.entry.hash, a.entry.hash),
		cmp.Compare(b.entry.check, a.entry.check))
}

// drop forgets the less useful half of the entries.
func (s *shard) drop() {
	s.drops++
	s.work = s.work[:0]
	s.slots.all(func(page []entry) {
		for i := range page {
			if e := &page[i]; e.count > 0 {
				s.work = append(s.work, rank{e, e.last, e.count})
			}
		}
	})
	keep := len(s.work) / 2
	slices.SortFunc(s.work, rank.compare)
	old := s.begin(s.size)
	for _, r := range s.work[:keep] {
		s.put(r.entry)
	}
	s.used = keep
	clear(s.work)
	old.release()
}

// clone is a table with the same pages.
func (t *table) clone() table {
	c := *t
	for i := range c {
		c[i].slots, c[i].work, c[i].copied = t[i].slots.clone(), nil, 0
	}
	return c
}

func (t *table) bytes() (n int) {
	for i := range t {
		n += t[i].slots.count * entryBytes
	}
	return n
}
