package memory

import "testing"

// TestHuge: a slice on large pages is one like any other, whatever its size.
func TestHuge(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 1 << 19, 1<<20 + 3} {
		s := Huge(make([]uint64, n))
		if len(s) != n {
			t.Fatalf("%d elements, want %d", len(s), n)
		}
		for i := range s {
			s[i] = uint64(i)
		}
		if s = Grow(s, 5); len(s) != n || cap(s) < n+5 {
			t.Fatalf("%d elements with room for %d, want %d and %d or more", len(s), cap(s), n, n+5)
		}
		for i, x := range s {
			if x != uint64(i) {
				t.Fatalf("element %d of %d is %d", i, n, x)
			}
		}
	}
}
