package sequence

// PlaceCounts turns pairs of counts, one for each position, into rows of a table that has a block of all counts for
// each place in a patch. A negative count stays.
func PlaceCounts(counts []int32, patch, block int) {
	if patch == 1 {
		return
	}
	each := 2 * patch
	for at := 0; at < len(counts); at += each {
		for i, count := range counts[at : at+each] {
			if count >= 0 {
				counts[at+i] = count + int32(i/2*block)
			}
		}
	}
}
