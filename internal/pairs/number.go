package pairs

// Numbered are the distinct ordered pairs of some events, numbered by first meeting.
type Numbered struct {
	Of    []int32 // [events] the number of an event's pair
	First []int32 // [pairs] the event in which they met first
	Table Table
}

// Number numbers the pairs (src[i], dst[i]) of events in one walk.
func Number(src, dst []int32) *Numbered {
	n := &Numbered{Of: make([]int32, len(src))}
	n.Table.AddPairs(src, dst, func(first int, numbers []int32) {
		copy(n.Of[first:], numbers)
		for i, number := range numbers {
			if int(number) == len(n.First) {
				n.First = append(n.First, int32(first+i))
			}
		}
	})
	return n
}

// Len is the number of distinct pairs.
func (n *Numbered) Len() int { return len(n.First) }

// AddPairs adds the pairs (src[i], dst[i]) and tells the numbers of one run of them after the other: those of pairs
// first, first+1, …, which are valid until the next.
func (t *Table) AddPairs(src, dst []int32, tell func(first int, numbers []int32)) {
	t.runs(src, dst, Key, t.Add, tell)
}

// FindPairs tells the numbers of pairs as AddPairs does, None for those that are not in the table.
func (t *Table) FindPairs(src, dst []int32, tell func(first int, numbers []int32)) {
	t.runs(src, dst, Key, t.Find, tell)
}

// AddUnordered is AddPairs for pairs that are the same whoever came first.
func (t *Table) AddUnordered(src, dst []int32, tell func(first int, numbers []int32)) {
	t.runs(src, dst, Unordered, t.Add, tell)
}

// FindUnordered is FindPairs for pairs that are the same whoever came first.
func (t *Table) FindUnordered(src, dst []int32, tell func(first int, numbers []int32)) {
	t.runs(src, dst, Unordered, t.Find, tell)
}

func (t *Table) runs(
	src, dst []int32, key func(u, v int32) uint64, do func([]uint64, []int32), tell func(int, []int32),
) {
	var keys [block]uint64
	var numbers [block]int32
	for lo := 0; lo < len(src); lo += block {
		n := min(block, len(src)-lo)
		for i := range n {
			keys[i] = key(src[lo+i], dst[lo+i])
		}
		do(keys[:n], numbers[:n])
		tell(lo, numbers[:n])
	}
}
