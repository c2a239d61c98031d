//go:build linux && !nogpu

package cuda

import "testing"

// TestScatterPieces needs no GPU.
func TestScatterPieces(t *testing.T) {
	for _, table := range []int{1, 34, 2120, 65608, 262216, 1 << 20} {
		for _, n := range []int{1, 15, 16, 17, 26400, 819200, 3277600} {
			for _, cols := range []int{1, 50, 172, scatterShared / 4} {
				tile, count, each := scatterPieces(table, cols, n)
				if tile < 1 || 4*tile*cols > scatterShared {
					t.Errorf("table %d×%d: a tile of %d rows", table, cols, tile)
				}
				if count < 1 || count > 264 || count*each < n || (count-1)*each >= n {
					t.Errorf("%d rows to %d: %d pieces of %d", n, table, count, each)
				}
				if tiles := blocks(table, tile); count > max(1, 1584/tiles) && count*table > n {
					t.Errorf("%d rows to %d: %d pieces take more memory than the rows", n, table, count)
				}
			}
		}
	}
	// DyGMamba's counts, patches of 8: what a block adds up grows with the histories, not with their square.
	_, short, _ := scatterPieces(8*1033, 50, 800*129)
	_, long, _ := scatterPieces(8*32777, 50, 800*4097)
	if long < 12 || short < 12 {
		t.Errorf("histories of 1024 and 32768 are cut into %d and %d pieces, want 12 or more", short, long)
	}
}
