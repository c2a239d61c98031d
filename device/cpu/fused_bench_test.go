package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/device"
)

// bench is a device with random arrays.
type bench struct {
	*Device
	rng *rand.Rand
}

func newBench(b *testing.B, threads int, plain bool) bench {
	d := New(Options{Threads: threads, Plain: plain})
	b.Cleanup(func() { d.Close() })
	return bench{d, rand.New(rand.NewPCG(1, 2))}
}

func (b bench) mat(rows, cols int) device.Mat {
	m := b.Alloc(rows * cols)
	for i := range m.Host {
		m.Host[i] = b.rng.Float32()
	}
	return m.Mat(rows, cols)
}

func eachForm(b *testing.B, run func(b *testing.B, d bench)) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) { run(b, newBench(b, threads, false)) })
	}
	b.Run("plain", func(b *testing.B) { run(b, newBench(b, 1, true)) })
}

func (b bench) scan(batch, steps, width, state int) (device.Scan, device.ScanGrad) {
	rows := batch * steps
	s := device.Scan{Batch: batch, Len: steps, Width: width, State: state, U: b.mat(rows, width),
		Delta: b.mat(rows, width), ALog: b.mat(width, state).Buf, B: b.mat(rows, state), C: b.mat(rows, state),
		Skip: b.mat(1, width).Buf, Gate: b.mat(rows, 2*width).Columns(width, 2*width), Y: b.mat(rows, width)}
	return s, device.ScanGrad{Scan: s, DY: b.mat(rows, width), DU: b.mat(rows, width), DDelta: b.mat(rows, width),
		DB: b.mat(rows, state), DC: b.mat(rows, state), DGate: b.mat(rows, width), DALog: b.mat(width, state).Buf,
		DSkip: b.mat(1, width).Buf}
}

func BenchmarkScan(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		s, _ := d.scan(100, 33, 200, 16)
		for b.Loop() {
			d.Scan(s)
		}
	})
}

func BenchmarkScanGrad(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		_, g := d.scan(100, 33, 200, 16)
		for b.Loop() {
			d.ScanGrad(g)
		}
	})
}

// A layer of the released model on uci.
func BenchmarkScanLayer(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		s, g := d.scan(800, 33, 100, 16)
		for b.Loop() {
			d.Scan(s)
			d.ScanGrad(g)
		}
	})
}

func BenchmarkScanExactGrad(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		_, g := d.scan(100, 33, 200, 16)
		g.Exact = true
		for b.Loop() {
			d.ScanGrad(g)
		}
	})
}

// 64 MB, as wide as the model's rows.
func BenchmarkNorm(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		rows, cols := 160_000, 100
		n := device.Norm{X: d.mat(rows, cols), Gamma: d.mat(1, cols).Buf, Beta: d.mat(1, cols).Buf, Eps: 1e-5,
			Stats: d.mat(2, rows).Buf, Y: d.mat(rows, cols)}
		b.SetBytes(int64(8 * rows * cols))
		for b.Loop() {
			d.Norm(n)
		}
	})
}

func BenchmarkNormGrad(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		rows, cols := 26400, 100
		n := device.Norm{X: d.mat(rows, cols), Gamma: d.mat(1, cols).Buf, Beta: d.mat(1, cols).Buf, Eps: 1e-5,
			Stats: d.mat(2, rows).Buf, Y: d.mat(rows, cols)}
		g := device.NormGrad{Norm: n, DY: d.mat(rows, cols), DX: d.mat(rows, cols), DGamma: d.mat(1, cols).Buf,
			DBeta: d.mat(1, cols).Buf}
		for b.Loop() {
			d.NormGrad(g)
		}
	})
}

func BenchmarkCopy(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		rows, cols := 160_000, 100
		x, y := d.mat(rows, cols), d.mat(rows, cols)
		b.SetBytes(int64(8 * rows * cols))
		for b.Loop() {
			d.Copy(y, x)
		}
	})
}

func (b bench) conv() device.ConvGrad {
	batch, steps, width := 800, 33, 100
	rows := batch * steps
	c := device.Conv{Batch: batch, Len: steps, Width: width, Kernel: 4, X: b.mat(rows, 2*width).Columns(0, width),
		W: b.mat(width, 4).Buf, Bias: b.mat(1, width).Buf, Y: b.mat(rows, width)}
	return device.ConvGrad{Conv: c, DY: b.mat(rows, width), DX: b.mat(rows, 2*width).Columns(0, width),
		DW: b.mat(width, 4).Buf, DBias: b.mat(1, width).Buf}
}

func BenchmarkConv(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		c := d.conv()
		for b.Loop() {
			d.Conv(c.Conv)
		}
	})
}

func BenchmarkConvGrad(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		c := d.conv()
		for b.Loop() {
			d.ConvGrad(c)
		}
	})
}

// The frequency tables of patches of eight: two counts for each of eight positions.
func (b bench) counts() (y, table device.Mat, rows device.Ints) {
	const n, per = 26400, 16
	rows = b.AllocInts(n * per)
	for i := range rows.Host {
		rows.Host[i] = int32(b.rng.IntN(265)*8 + i/2%8)
	}
	return b.mat(n, 50), b.mat(265*8, 50), rows
}

func BenchmarkGather(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		y, table, rows := d.counts()
		for b.Loop() {
			d.Gather(y, table, rows, 16)
		}
	})
}

func BenchmarkScatterAdd(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		y, table, rows := d.counts()
		for b.Loop() {
			d.ScatterAdd(table, y, rows, 16)
		}
	})
}

// The transformer of DyGFormer (66 patches) and the temporal attention of TGAT (one query, 20 neighbours).
func BenchmarkAttention(b *testing.B) {
	for _, size := range [][5]int{{400, 2, 66, 66, 100}, {8000, 2, 1, 20, 136}} {
		batch, heads, queries, keys, width := size[0], size[1], size[2], size[3], size[4]
		b.Run(fmt.Sprintf("queries=%d", queries), func(b *testing.B) {
			eachForm(b, func(b *testing.B, d bench) {
				m := func(rows int) device.Mat { return d.mat(batch*rows, heads*width) }
				a := device.Attention{Batch: batch, Heads: heads, Queries: queries, Keys: keys, HeadDim: width,
					Q: m(queries), K: m(keys), V: m(keys), Scale: 0.1, Weights: d.mat(batch*heads, queries*keys).Buf,
					Y: m(queries)}
				g := device.AttentionGrad{Attention: a, DY: m(queries), DQ: m(queries), DK: m(keys), DV: m(keys)}
				for b.Loop() {
					d.Attention(a)
					d.AttentionGrad(g)
				}
			})
		})
	}
}

// BenchmarkDecayedProducts holds the histories of 400 queries of uci, 32 long, against their nodes.
func BenchmarkDecayedProducts(b *testing.B) {
	eachForm(b, func(b *testing.B, d bench) {
		const n, each, dim, rows = 400, 32, 128, 1500
		numbers := func(n int) device.Ints {
			x := d.AllocInts(n)
			for i := range x.Host {
				x.Host[i] = int32(d.rng.IntN(rows))
			}
			return x
		}
		w := device.DecayedProducts{Dim: dim, Table: d.mat(rows, 10*dim), Rates: d.mat(1, 3).Buf,
			Src: numbers(n), Dst: numbers(n), SrcAge: d.mat(1, n).Buf, DstAge: d.mat(1, n).Buf,
			Of: numbers(2 * n * each), Age: d.mat(1, 2*n*each).Buf, Each: each,
			Y: d.mat(2*n*each, 96)}
		for b.Loop() {
			d.DecayedProducts(w)
		}
	})
}
