package pairs

// FindPairs tells the numbers of the pairs (src[i], dst[i]), None for those that are not in the table, of one run of
// them after the other: those of pairs first, first+1, …, which are valid until the next.
func (t *Table) FindPairs(src, dst []int32, tell func(first int, numbers []int32)) {
	t.runs(src, dst, Key, t.Find, tell)
}

// AddUnordered adds the pairs (src[i], dst[i]), which are the same whoever came first, and tells their numbers as
// FindPairs does.
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
