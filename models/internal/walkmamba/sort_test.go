package walkmamba

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortNodes sorts lists of all sizes, with small and large numbers.
func TestSortNodes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var work []int32
	for _, n := range []int{0, 1, 100, 2047, 2048, 5000} {
		for _, most := range []int32{1, 7, 2048, 1 << 22, math.MaxInt32} {
			list := make([]int32, n)
			for i := range list {
				list[i] = r.Int32N(most)
			}
			want := slices.Sorted(slices.Values(list))
			var got []int32
			if got, work = sortNodes(list, work); !slices.Equal(got, want) {
				t.Errorf("%d numbers below %d are not in order", n, most)
			}
		}
	}
}
