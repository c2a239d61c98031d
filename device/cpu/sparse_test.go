package cpu

import "testing"

// A large sparse table is zero at first and after ZeroSparse, whatever was written and wherever its pages begin.
func TestSparse(t *testing.T) {
	d := New(Options{Threads: 2})
	defer d.Close()
	for _, n := range []int{10, sparseBytes/4 + 12345} {
		b := d.AllocSparse(n)
		places := []int{0, 1, n / 3, n / 2, n - 2, n - 1}
		for _, i := range places {
			if b.Host[i] != 0 {
				t.Fatalf("%d numbers: number %d is %v at first", n, i, b.Host[i])
			}
			b.Host[i] = 7
		}
		d.ZeroSparse(b)
		for _, i := range places {
			if b.Host[i] != 0 {
				t.Fatalf("%d numbers: number %d is still %v", n, i, b.Host[i])
			}
		}
		used := d.Used()
		d.Free(b)
		if got := used - d.Used(); got != 4*int64(n) {
			t.Errorf("%d numbers took %d bytes", n, got)
		}
		b.Host[n/2] = 7
		again := d.AllocSparse(n)
		if again.Host[n/2] != 0 && n > 10 && &again.Host[0] != &b.Host[0] {
			t.Errorf("%d numbers: one that is used again is %v", n, again.Host[n/2])
		}
		d.Free(again)
	}
}
