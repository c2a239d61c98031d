//go:build linux && !nogpu

package cuda

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// numbers are the addresses of all floats of an access.
func (a access) numbers() []uintptr {
	var n []uintptr
	for r := range a.rows {
		for c := range a.cols {
			n = append(n, a.addr+4*uintptr(r*a.stride+c))
		}
	}
	return n
}

// randomAccess lies within a few matrices of 5 columns, or anywhere.
func randomAccess(rng *rand.Rand) access {
	a := access{rows: 1 + rng.IntN(4), stride: 5, write: rng.IntN(3) == 0}
	if rng.IntN(3) == 0 {
		a.stride = 1 + rng.IntN(7)
	}
	a.cols = 1 + rng.IntN(a.stride)
	a.addr = 4 * uintptr(1+rng.IntN(60))
	return a
}

func share(a, b access) bool {
	in := a.numbers()
	return slices.ContainsFunc(b.numbers(), func(x uintptr) bool { return slices.Contains(in, x) })
}

// clash reports whether one of two launches writes a number that the other touches, number by number.
func clash(a, b []access) bool {
	return slices.ContainsFunc(a, func(x access) bool {
		return slices.ContainsFunc(b, func(y access) bool { return (x.write || y.write) && share(x, y) })
	})
}

// TestOverlaps: accesses that share a number overlap, and columns side by side do not.
func TestOverlaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	apart := 0
	for range 20_000 {
		a, b := randomAccess(rng), randomAccess(rng)
		if share(a, b) && !a.overlaps(b) {
			t.Fatalf("%+v and %+v share numbers", a, b)
		}
		if a.overlaps(b) != b.overlaps(a) {
			t.Fatalf("%+v and %+v: it depends on who asks", a, b)
		}
		if a.addr < b.end() && b.addr < a.end() && !a.overlaps(b) {
			apart++
		}
	}
	if apart < 100 {
		t.Errorf("only %d pairs are interleaved without sharing a number", apart)
	}
	for _, c := range []struct {
		a, b access
		want bool
	}{
		{access{400, 10, 50, 120, true}, access{400 + 4*50, 10, 70, 120, false}, false},
		{access{400, 10, 51, 120, true}, access{400 + 4*50, 10, 70, 120, false}, true},
		{access{400 + 4*50, 10, 71, 120, true}, access{400, 10, 50, 120, false}, true}, // into the next row
		{access{400, 10, 120, 120, true}, access{400 + 4*1200, 10, 120, 120, true}, false},
	} {
		if got := c.a.overlaps(c.b); got != c.want {
			t.Errorf("%+v and %+v overlap: %v", c.a, c.b, got)
		}
	}
}

// TestOrder: launches that clash keep their order, and no launch waits for one that it has waited for.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	free := 0
	for range 30 {
		o := newOrder()
		var all [][]access
		before := map[[2]int]bool{} // by the waits alone
		for n := range 60 {
			var a []access
			for range 1 + rng.IntN(3) {
				a = append(a, randomAccess(rng))
			}
			all = append(all, a)
			var waits []int
			if product := rng.IntN(2) == 0; product {
				waits, _ = o.addProduct(a)
			} else {
				waits = o.add(a)
			}
			for _, w := range waits {
				before[[2]int{w, n}] = true
				for _, v := range waits {
					if before[[2]int{v, w}] {
						t.Fatalf("launch %d waits for %d and for %d, which has waited for it", n, v, w)
					}
				}
				for i := range w {
					if before[[2]int{i, w}] {
						before[[2]int{i, n}] = true
					}
				}
			}
			for i := range n {
				if clash(all[i], a) && !before[[2]int{i, n}] {
					t.Fatalf("launch %d does not wait for %d: %+v, %+v", n, i, all[i], a)
				}
				if !before[[2]int{i, n}] {
					free++
				}
			}
		}
	}
	if free < 1000 {
		t.Errorf("only %d pairs of launches may run at once", free)
	}
}

// TestOrderOfProducts: no two products that may run at once have the same workspace.
func TestOrderOfProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	o := newOrder()
	var spaces []int
	for n := range 300 {
		_, space := o.addProduct([]access{randomAccess(rng), {addr: 1 << 20, rows: 1, cols: 1, stride: 1}})
		for i, other := range spaces {
			if other == space && !o.ended[n].has(i) {
				t.Fatalf("products %d and %d may run at once with workspace %d", i, n, space)
			}
		}
		spaces = append(spaces, space)
	}
}
