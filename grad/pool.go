package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Pool is the weighted sum of each sequence: w [B, P], h [B, P, D] → y[b] = Σ_j w[b,j]·h[b,j], [B, D].
func Pool(tp *Tape, w, h *tensor.Tensor) *tensor.Tensor {
	if w.Rank() != 2 || h.Rank() != 3 || w.Dim(0) != h.Dim(0) || w.Dim(1) != h.Dim(1) {
		panic(tensor.Mismatch("pool", "weights [B, P] and sequences [B, P, D]", w.Shape(), h.Shape()))
	}
	y := tp.Result([]int{h.Dim(0), h.Dim(2)}, w, h)
	if y.Len() > 0 {
		tp.dev.Pool(y.Mat(), w.Mat(), h.Mat())
		record(tp, y, pool{w, h})
	}
	return y
}

type pool struct{ w, h *tensor.Tensor }

func (o *pool) backward(tp *Tape, dy device.Mat) {
	tp.dot(o.w, dy, o.h.Mat())
	tp.outer(o.h, o.w.Mat(), dy)
	tp.Recycle(dy.Buf)
}

// Dot compares a vector with every step of its sequence: a [B, D], h [B, P, D] → w[b,j] = Σ_c a[b,c]·h[b,j,c], [B, P].
func Dot(tp *Tape, a, h *tensor.Tensor) *tensor.Tensor {
	if a.Rank() != 2 || h.Rank() != 3 || a.Dim(0) != h.Dim(0) || a.Dim(1) != h.Dim(2) {
		panic(tensor.Mismatch("dot", "vectors [B, D] and sequences [B, P, D]", a.Shape(), h.Shape()))
	}
	w := tp.Result([]int{h.Dim(0), h.Dim(1)}, a, h)
	if w.Len() > 0 {
		tp.dev.Dot(w.Mat(), a.Mat(), h.Mat())
		record(tp, w, dot{a, h})
	}
	return w
}

type dot struct{ a, h *tensor.Tensor }

func (o *dot) backward(tp *Tape, dw device.Mat) {
	tp.pool(o.a, dw, o.h.Mat())
	tp.outer(o.h, dw, o.a.Mat())
	tp.Recycle(dw.Buf)
}

// Outer is every weight's multiple of a vector: w [B, P], a [B, D] → h[b,j] = w[b,j]·a[b], [B, P, D].
func Outer(tp *Tape, w, a *tensor.Tensor) *tensor.Tensor {
	if w.Rank() != 2 || a.Rank() != 2 || w.Dim(0) != a.Dim(0) {
		panic(tensor.Mismatch("outer", "weights [B, P] and vectors [B, D]", w.Shape(), a.Shape()))
	}
	h := tp.Result([]int{w.Dim(0), w.Dim(1), a.Dim(1)}, w, a)
	if h.Len() > 0 {
		tp.dev.Outer(h.Mat(), w.Mat(), a.Mat(), false)
		record(tp, h, outer{w, a})
	}
	return h
}

type outer struct{ w, a *tensor.Tensor }

func (o *outer) backward(tp *Tape, dh device.Mat) {
	tp.dot(o.w, o.a.Mat(), dh)
	tp.pool(o.a, o.w.Mat(), dh)
	tp.Recycle(dh.Buf)
}

// Repeat is every row k times in a row: [B, D] → [B·k, D].
func Repeat(tp *Tape, x *tensor.Tensor, k int) *tensor.Tensor {
	w := tp.New(x.Dim(0), k) // [B, k]
	tp.fill(w.Data, 1)
	return Reshape(tp, Outer(tp, w, x), x.Dim(0)*k, x.Cols())
}

// Each of the three is what the gradients of the others are made of.

// pool adds Σ_j w[b,j]·h[b,j] to the gradient of a[b].
func (tp *Tape) pool(a *tensor.Tensor, w, h device.Mat) {
	if a.Tracked && a.Len() > 0 {
		da := tp.Scratch(a.Len())
		tp.dev.Pool(da.Mat(a.Rows(), a.Cols()), w, h)
		tp.Give(a, da)
	}
}

// dot adds Σ_c a[b,c]·h[b,j,c] to the gradient of w[b,j].
func (tp *Tape) dot(w *tensor.Tensor, a, h device.Mat) {
	if w.Tracked && w.Len() > 0 {
		dw := tp.Scratch(w.Len())
		tp.dev.Dot(dw.Mat(w.Rows(), w.Cols()), a, h)
		tp.Give(w, dw)
	}
}

// outer adds w[b,j]·a[b] to the gradient of h[b,j].
func (tp *Tape) outer(h *tensor.Tensor, w, a device.Mat) {
	if h.Tracked && h.Len() > 0 {
		acc := tp.adds(h)
		tp.dev.Outer(h.GradMat(), w, a, acc)
	}
}

// MeanSteps is the mean of each sequence: [B, P, D] → [B, D].
func MeanSteps(tp *Tape, h *tensor.Tensor) *tensor.Tensor {
	if h.Rank() != 3 || h.Dim(1) == 0 {
		panic(tensor.Mismatch("mean of steps", "sequences [B, P, D] of at least one step", h.Shape()))
	}
	w := tp.New(h.Dim(0), h.Dim(1)) // [B, P]
	tp.fill(w.Data, 1/float32(h.Dim(1)))
	return Pool(tp, w, h)
}

// RowSum is the sum of every row: [..., c] → [..., 1].
func RowSum(tp *Tape, x *tensor.Tensor) *tensor.Tensor {
	shape := widened(x, 1)
	y := tp.Result(shape.list(), x)
	if y.Len() == 0 {
		return y
	}
	if x.Len() == 0 {
		tp.dev.Zero(y.Data)
		return y
	}
	tp.dev.RowSum(y.Data, x.Mat())
	record(tp, y, rowSum{x})
	return y
}

type rowSum struct{ x *tensor.Tensor }

func (o *rowSum) backward(tp *Tape, dy device.Mat) {
	dx := tp.Scratch(o.x.Len())
	tp.fill(dx, 1)
	m := dx.Mat(o.x.Rows(), o.x.Cols())
	tp.dev.ZipCol(device.Mul, m, m, dy.Buf)
	tp.Give(o.x, dx)
	tp.Recycle(dy.Buf)
}

// Sum is the sum of all numbers of x → [1].
func Sum(tp *Tape, x *tensor.Tensor) *tensor.Tensor {
	rows := RowSum(tp, x)
	return Reshape(tp, RowSum(tp, Reshape(tp, rows, 1, rows.Len())), 1)
}

// fill sets every number of b to v.
func (tp *Tape) fill(b device.Buffer, v float32) {
	if b.Len == 0 {
		return
	}
	m := b.Mat(1, b.Len)
	tp.dev.Zero(b)
	tp.dev.Map(device.Exp, m, m)
	if v != 1 {
		tp.dev.Scale(m, m, v)
	}
}
