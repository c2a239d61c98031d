package bench

import "testing"

// TestSpread: as many batches are chosen as were asked for, all over the stream, and most follow another.
func TestSpread(t *testing.T) {
	for of := 2; of < 60; of++ {
		for n := 2; n <= of; n++ {
			chosen, follow, last := spread(n, of), 0, 0
			for i := range chosen {
				if i < 0 || i >= of {
					t.Fatalf("%d of %d: batch %d", n, of, i)
				}
				if chosen[i-1] {
					follow++
				}
				last = max(last, i)
			}
			if len(chosen) != n || last < of/2 {
				t.Errorf("%d of %d: %v", n, of, chosen)
			}
			if n >= 2*together && 2*follow < n {
				t.Errorf("%d of %d: only %d follow another", n, of, follow)
			}
		}
	}
	for i, want := range []int{2, 7, 12} { // few are apart
		if !spread(3, 15)[want] {
			t.Errorf("batch %d of 3 among 15 is not %d: %v", i, want, spread(3, 15))
		}
	}
}
