package cpu

import (
	"slices"
	"testing"
)

// The vector form draws the same words as the plain one, for counters of more than 32 bits too.
func TestDrawAgrees(t *testing.T) {
	d := New(Options{Threads: 1})
	defer d.Close()
	for _, first := range []uint64{0, 8, 1<<32 - 16, 5<<32 + 24} {
		got, want := make([]uint32, 5*drawBlock), make([]uint32, 5*drawBlock)
		d.loops.draw(got, first, 7, 0xdeadbeef, 12345)
		drawPlain(want, first, 7, 0xdeadbeef, 12345)
		if !slices.Equal(got, want) {
			t.Errorf("words from counter %d differ:\n%x\n%x", first, got, want)
		}
	}
}
