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
				done, groups := 0, blocks(s.pieces, s.group)
				for piece := range s.pieces { // as the kernel cuts them
					from := piece / s.group * s.rows
					lo := from + piece%s.group*s.each
					hi := min(lo+s.each, from+s.rows, n)
					if lo != done || hi <= lo {
						t.Fatalf("%d rows to %d: piece %d of %+v has rows %d to %d", n, table, piece, s, lo, hi)
					}
					done = hi
				}
				if done != n || groups != blocks(n, s.rows) {
					t.Errorf("%d rows to %d: %+v ends at %d", n, table, s, done)
				}
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
