package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/device"
)

// A row's result has the same bits whichever rows are beside it, so a score does not depend on the other rows of its
// batch.
func TestMatMulRowsStandAlone(t *testing.T) {
	for _, plain := range []bool{false, true} {
		d := New(Options{Threads: 2, Plain: plain})
		for _, size := range [][2]int{{100, 400}, {400, 100}, {7, 100}, {172, 1}, {50, 25}, {33, 9}, {1, 7}} {
			for _, transB := range []bool{false, true} {
				t.Run(fmt.Sprintf("plain=%v K=%d N=%d tB=%v", plain, size[0], size[1], transB), func(t *testing.T) {
					rowsStandAlone(t, d, size[0], size[1], device.Gemm{TransB: transB, Act: device.SiLU})
				})
			}
		}
		d.Close()
	}
}

func rowsStandAlone(t *testing.T, d *Device, k, n int, g device.Gemm) {
	const rows = 230
	a, b, c, part := d.Alloc(rows*k), d.Alloc(k*n), d.Alloc(rows*n), d.Alloc(rows*n)
	rng := rand.New(rand.NewPCG(1, uint64(k*n)))
	fillNormal(rng, a.Host)
	fillNormal(rng, b.Host)
	bm := b.Mat(k, n)
	if g.TransB {
		bm = b.Mat(n, k)
	}
	d.MatMul(c.Mat(rows, n), a.Mat(rows, k), bm, g)
	for _, span := range [][2]int{{0, 1}, {229, 230}, {3, 5}, {7, 13}, {20, 31}, {40, 52}, {99, 112}, {1, 230}} {
		lo, hi := span[0], span[1]
		d.MatMul(part.Mat(hi-lo, n), a.Slice(lo*k, hi*k).Mat(hi-lo, k), bm, g)
		for i, v := range part.Host[:(hi-lo)*n] {
			if want := c.Host[lo*n+i]; v != want {
				t.Fatalf("rows %d to %d: number %d is %v alone and %v among %d rows", lo, hi, i, v, want, rows)
			}
		}
	}
}

func fillNormal(rng *rand.Rand, x []float32) {
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
}

// Panels cover every column, each is stored whole, and none reaches beyond the last column unless there are fewer than
// eight.
func TestPanels(t *testing.T) {
	for n := 1; n < 200; n++ {
		count, packed := panels(n)
		next, stored := 0, 0
		for i := range count {
			col, at, width := panel(n, i)
			if at != stored || col > next || col < 0 || col+width > max(n, narrowCols) {
				t.Fatalf("n=%d: panel %d has columns %d to %d at %d; %d columns are covered, %d stored",
					n, i, col, col+width, at, next, stored)
			}
			next, stored = col+width, stored+width
		}
		if next < n || stored != packed {
			t.Fatalf("n=%d: panels cover %d columns and store %d, %d announced", n, next, stored, packed)
		}
	}
}

func BenchmarkMatMul(b *testing.B) {
	for _, s := range [][3]int{{25600, 100, 400}, {25600, 400, 100}, {25600, 200, 100}, {25600, 7, 100},
		{25600, 100, 1}, {25600, 100, 50}, {400, 100, 100}, {800, 516, 172}} {
		m, k, n := s[0], s[1], s[2]
		for _, threads := range []int{1, 2} {
			d := New(Options{Threads: threads})
			x, y, w, dw := d.Alloc(m*k).Mat(m, k), d.Alloc(m*n).Mat(m, n), d.Alloc(n*k).Mat(n, k),
				d.Alloc(n*k).Mat(n, k)
			rng := rand.New(rand.NewPCG(1, 2))
			fillNormal(rng, x.Buf.Host)
			fillNormal(rng, w.Buf.Host)
			bench := func(name string, call func()) {
				b.Run(fmt.Sprintf("%s/M=%d/K=%d/N=%d/threads=%d", name, m, k, n, threads), func(b *testing.B) {
					call()
					for b.Loop() {
						call()
					}
					b.ReportMetric(2*float64(m*k*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
			bench("y", func() { d.MatMul(y, x, w, device.Gemm{TransB: true}) })
			bench("dx", func() { d.MatMul(x, y, w, device.Gemm{}) })
			bench("dx+", func() { d.MatMul(x, y, w, device.Gemm{Acc: true}) })
			bench("dw", func() { d.MatMul(dw, y, x, device.Gemm{TransA: true}) })
			d.Close()
		}
	}
}
