package walkmamba

import "slices"

// digit is the number of bits that sortNodes sorts by at a time.
const digit = 11

// sortNodes sorts nodes, none of which is negative, digit by digit where they are many. It gives back the list and
// memory for the next call, which may have changed places.
func sortNodes(list, work []int32) (sorted, other []int32) {
	if len(list) < 1<<digit {
		slices.Sort(list)
		return list, work
	}
	work = resize(work, len(list))
	most := slices.Max(list)
	for shift := 0; most>>shift > 0; shift += digit {
		var ends [1 << digit]int32
		for _, n := range list {
			ends[n>>shift&(1<<digit-1)]++
		}
		sum := int32(0)
		for i, count := range ends {
			ends[i], sum = sum, sum+count
		}
		for _, n := range list {
			at := &ends[n>>shift&(1<<digit-1)]
			work[*at] = n
			*at++
		}
		list, work = work, list
	}
	return list, work
}
