package bench

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/trace"
)

// timeProducts times every product alone and returns their arithmetic in GFLOP and the sum of their times in
// milliseconds. Equal ones are timed once and counted.
func timeProducts(ctx context.Context, dev device.Device, list []trace.Product) (gflop, ms float64, err error) {
	count := map[trace.Product]int{}
	for _, p := range list {
		gflop += float64(p.Flops()) / 1e9
		p.Bias, p.Pre, p.Act = false, false, device.Identity
		count[p]++
	}
	noise := make([]float32, 1<<20)
	for i := range noise {
		noise[i] = rand.Float32() - 0.5
	}
	for p, n := range count {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		ms += float64(n) * timeProduct(dev, p, noise)
	}
	return gflop, ms, nil
}

// timeProduct is the least time of several runs of one product on memory of its own, full of noise: a floor should not
// hold what else the machine did.
func timeProduct(dev device.Device, p trace.Product, noise []float32) float64 {
	batch := max(p.Batch, 1)
	matrix := func(rows, cols, stride, step int, transposed bool) device.Mat {
		if transposed {
			rows, cols = cols, rows
		}
		buf := dev.Alloc((batch-1)*step + rows*stride)
		for lo := 0; lo < buf.Len; lo += len(noise) {
			hi := min(lo+len(noise), buf.Len)
			dev.Write(buf.Slice(lo, hi), noise[:hi-lo])
		}
		return device.Mat{Buf: buf, Rows: rows, Cols: cols, Stride: stride}
	}
	a := matrix(p.M, p.K, p.StrideA, p.StepA, p.TransA)
	b := matrix(p.K, p.N, p.StrideB, p.StepB, p.TransB)
	c := matrix(p.M, p.N, p.StrideC, p.StepC, false)
	defer func() { dev.Free(a.Buf); dev.Free(b.Buf); dev.Free(c.Buf) }()

	g := device.Gemm{TransA: p.TransA, TransB: p.TransB, Acc: p.Acc, Batch: p.Batch, StepA: p.StepA, StepB: p.StepB,
		StepC: p.StepC}
	const least, most, enough = 5, 101, 80 * time.Millisecond
	best := math.Inf(1)
	began := time.Now()
	for n := 0; n < most && (n < least || time.Since(began) < enough); n++ {
		dev.Sync()
		start := time.Now()
		dev.MatMul(c, a, b, g)
		dev.Sync()
		best = min(best, milliseconds(time.Since(start)))
	}
	return best
}
