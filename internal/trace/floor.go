package trace

import (
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/device"
)

// Floor is the time that the products would take with nothing between them: each kind of product runs alone on dev,
// without bias and activation, and the median of its repeated runs counts as often as the product is in the list. No
// step that executes these products can be faster.
func Floor(dev device.Device, products []Product, repeats int) time.Duration {
	count := map[Product]int{}
	var order []Product
	for _, p := range products {
		p.Bias, p.Pre, p.Act = false, false, device.Identity
		if count[p] == 0 {
			order = append(order, p)
		}
		count[p]++
	}
	total := time.Duration(0)
	for _, p := range order {
		total += time.Duration(count[p]) * p.alone(dev, repeats)
	}
	return total
}

// alone runs p by itself and returns the median time.
func (p Product) alone(dev device.Device, repeats int) time.Duration {
	place := func(rows, cols, stride, step int, trans bool) (device.Buffer, device.Mat) {
		if trans {
			rows, cols = cols, rows
		}
		b := dev.Alloc(max(rows*stride+(max(p.Batch, 1)-1)*step, 1))
		return b, device.Mat{Buf: b, Rows: rows, Cols: cols, Stride: stride}
	}
	bufA, a := place(p.M, p.K, p.StrideA, p.StepA, p.TransA)
	bufB, b := place(p.K, p.N, p.StrideB, p.StepB, p.TransB)
	bufC, c := place(p.M, p.N, p.StrideC, p.StepC, false)
	g := device.Gemm{TransA: p.TransA, TransB: p.TransB, Acc: p.Acc, Batch: p.Batch, StepA: p.StepA, StepB: p.StepB,
		StepC: p.StepC}
	times := make([]time.Duration, max(repeats, 1))
	for i := -1; i < len(times); i++ { // the first run warms up
		dev.Sync()
		began := time.Now()
		dev.MatMul(c, a, b, g)
		dev.Sync()
		if i >= 0 {
			times[i] = time.Since(began)
		}
	}
	for _, b := range []device.Buffer{bufA, bufB, bufC} {
		dev.Free(b)
	}
	slices.Sort(times)
	return times[len(times)/2]
}
