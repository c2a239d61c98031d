//go:build linux && !nogpu

package cuda

import "testing"

// TestCutScatter needs no GPU.
func TestCutScatter(t *testing.T) {
	for _, table := range []int{1, 34, 2120, 65608, 262216, 1 << 20} {
		for _, n := range []int{1, 15, 16, 17, 26400, 819200, 3277600} {
			for _, cols := range []int{1, 50, 172, scatterShared / 4} {
				s := cutScatter(table, cols, n)
				if s.tile < 1 || 4*s.tile*cols > scatterShared {
					t.Errorf("table %d×%d: a tile of %d rows", table, cols, s.tile)
				}
				if s.pieces < 1 || s.pieces*s.each < n || (s.pieces-1)*s.each >= n {
					t.Errorf("%d rows to %d: %d pieces of %d", n, table, s.pieces, s.each)
				}
				groups := blocks(s.pieces, s.group)
				if groups < 1 || groups > 264 {
					t.Errorf("%d rows to %d: %d groups of pieces", n, table, groups)
				}
				if tiles := blocks(table, s.tile); groups > max(1, 1584/tiles) && groups*table > 4*n {
					t.Errorf("%d rows to %d: the sums of %d groups take more memory than four times the rows",
						n, table, groups)
				}
			}
		}
	}
}
