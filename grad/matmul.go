package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// MatMul is the product of two matrices, or of two equally long batches of them: a [m, k] (or [k, m] if transA),
// b [k, n] (or [n, k] if transB) → [m, n]; with a batch, [B, …] each, dense.
func MatMul(tp *Tape, a, b *tensor.Tensor, transA, transB bool) *tensor.Tensor {
	rank := a.Rank()
	ok := rank == b.Rank() && (rank == 2 || rank == 3 && a.Dim(0) == b.Dim(0) && a.Dense() && b.Dense())
	var m, k, k2, n int
	if ok {
		m, k = swapped(a.Dim(-2), a.Dim(-1), transA)
		k2, n = swapped(b.Dim(-2), b.Dim(-1), transB)
	}
	if !ok || k != k2 {
		panic(tensor.Mismatch("matmul", "matrices [m, k] and [k, n], or dense batches of them", a.Shape(), b.Shape()))
	}
	shape := dims{n: rank, d: [tensor.MaxRank]int{a.Dim(0), m, n}}
	if rank == 2 {
		shape.d = [tensor.MaxRank]int{m, n}
	}
	y := tp.Result(shape.list(), a, b)
	if y.Len() > 0 {
		tp.dev.MatMul(first(y), first(a), first(b), batched(transA, transB, a, b, y))
		record(tp, y, matMul{a, b, y, transA, transB})
	}
	return y
}

type matMul struct {
	a, b, y        *tensor.Tensor
	transA, transB bool
}

func (o *matMul) backward(tp *Tape, dy device.Mat) {
	dy.Rows = o.y.Dim(-2) // of the first of the batch
	a, b := first(o.a), first(o.b)
	if o.transA {
		tp.product(o.a, b, dy, batched(o.transB, true, o.b, o.y, o.a))
	} else {
		tp.product(o.a, dy, b, batched(false, !o.transB, o.y, o.b, o.a))
	}
	if o.transB {
		tp.product(o.b, dy, a, batched(true, o.transA, o.y, o.a, o.b))
	} else {
		tp.product(o.b, a, dy, batched(!o.transA, false, o.a, o.y, o.b))
	}
	tp.Recycle(dy.Buf)
}

// batched describes the product of the whole batch: c = a·b.
func batched(transA, transB bool, a, b, c *tensor.Tensor) device.Gemm {
	g := device.Gemm{TransA: transA, TransB: transB}
	if c.Rank() == 3 {
		g.Batch = c.Dim(0)
		g.StepA, g.StepB, g.StepC = a.Dim(1)*a.Dim(2), b.Dim(1)*b.Dim(2), c.Dim(1)*c.Dim(2)
	}
	return g
}

// first is the first matrix of a batch, or the only one.
func first(t *tensor.Tensor) device.Mat {
	if t.Rank() == 2 {
		return t.Mat()
	}
	return t.Data.Mat(t.Dim(-2), t.Dim(-1))
}

func swapped(a, b int, swap bool) (int, int) {
	if swap {
		return b, a
	}
	return a, b
}

// Transpose swaps the last two dimensions: [..., r, c] → [..., c, r].
func Transpose(tp *Tape, x *tensor.Tensor) *tensor.Tensor {
	if x.Rank() < 2 || !x.Dense() {
		panic(tensor.Mismatch("transpose", "a dense tensor [..., r, c]", x.Shape()))
	}
	n := x.Rank()
	shape := widened(x, x.Dim(-2))
	shape.d[n-2] = x.Dim(-1)
	y := tp.Result(shape.list(), x)
	if r, c := x.Dim(-2), x.Dim(-1); y.Len() > 0 {
		tp.dev.Transpose(y.Data, x.Data, x.Len()/(r*c), r, c)
		record(tp, y, transpose{x})
	}
	return y
}

type transpose struct{ x *tensor.Tensor }

func (o *transpose) backward(tp *Tape, dy device.Mat) {
	r, c := o.x.Dim(-1), o.x.Dim(-2)
	dx := tp.Scratch(dy.Buf.Len)
	tp.dev.Transpose(dx, dy.Buf, dx.Len/(r*c), r, c)
	tp.Give(o.x, dx)
	tp.Recycle(dy.Buf)
}
