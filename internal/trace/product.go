package trace

import "github.com/dygmamba/dygmamba/device"

// Product is a matrix product that ran: C [M, N] = A [M, K]·B [K, N], with what of a device.Gemm makes it fast or slow.
type Product struct {
	M, N, K                   int
	TransA, TransB, Acc       bool
	Bias, Pre                 bool
	Act                       device.Act
	Batch                     int
	StrideA, StrideB, StrideC int
	StepA, StepB, StepC       int
}

// Flops is the number of floating point operations.
func (p Product) Flops() int64 {
	return 2 * int64(p.M) * int64(p.N) * int64(p.K) * int64(max(p.Batch, 1))
}

// MatMul also joins the list of products.
func (d *Device) MatMul(c, a, b device.Mat, g device.Gemm) {
	k := a.Cols
	if g.TransA {
		k = a.Rows
	}
	d.products = append(d.products, Product{
		M: c.Rows, N: c.Cols, K: k,
		TransA: g.TransA, TransB: g.TransB, Acc: g.Acc, Bias: g.Bias.Len > 0, Pre: g.Pre.Given(), Act: g.Act,
		Batch: g.Batch, StrideA: a.Stride, StrideB: b.Stride, StrideC: c.Stride, StepA: g.StepA, StepB: g.StepB,
		StepC: g.StepC,
	})
	d.Hook.MatMul(c, a, b, g)
}
