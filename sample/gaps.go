package sample

import "github.com/dygmamba/dygmamba/index"

// gaps fills row, most recent last, with the times between successive meetings of the query's two nodes and from the
// last one to the query. Meetings at one moment are one, and nothing is known before the first. src and dst are all
// that the two had done before the query.
func gaps(row []float32, q Query, src, dst index.History) {
	// A meeting stands in both histories, the shorter one is searched.
	past, other := src, q.Dst
	if dst.Len() < src.Len() {
		past, other = dst, q.Src
	}
	left, end := len(row), q.Time
	for i := lastIndex(past.Node, other); i >= 0 && left > 0; i = lastIndex(past.Node[:i], other) {
		if at := past.Time[i]; at != end {
			left--
			row[left] = float32(end - at)
			end = at
		}
	}
	for i := range row[:left] {
		row[i] = Never
	}
}

// lastIndex is the position of the last x in s, −1 if there is none.
func lastIndex(s []int32, x int32) int {
	i := len(s) - 1
	for i >= 0 && s[i] != x {
		i--
	}
	return i
}
