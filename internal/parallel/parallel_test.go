package parallel

import (
	"sync/atomic"
	"testing"
)

func TestRanges(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 1000} {
		seen := make([]atomic.Int32, n)
		Ranges(n, 10, func(part, lo, hi int) {
			if lo != 10*part || hi <= lo || hi > n {
				t.Errorf("part %d of %d is %d to %d", part, n, lo, hi)
			}
			for i := lo; i < hi; i++ {
				seen[i].Add(1)
			}
		})
		for i := range seen {
			if got := seen[i].Load(); got != 1 {
				t.Errorf("%d of %d was done %d times", i, n, got)
			}
		}
	}
}

func TestPanic(t *testing.T) {
	defer func() {
		if p := recover(); p != "five" {
			t.Errorf("recovered %v", p)
		}
	}()
	Each(100, func(i int) {
		if i == 5 {
			panic("five")
		}
	})
	t.Error("no panic")
}
