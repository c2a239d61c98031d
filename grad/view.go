package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Reshape views dense x with other dimensions; joining p steps of a sequence into a patch is [B, L, c] → [B, L/p, p·c].
func Reshape(tp *Tape, x *tensor.Tensor, shape ...int) *tensor.Tensor {
	y := tp.header(shape)
	if y.Len() != x.Len() || !x.Dense() {
		panic(tensor.Mismatch("reshape", "a dense tensor and a shape with as many elements", x.Shape(), shape))
	}
	y.Data, y.Tracked = x.Data, x.Tracked
	if x.Of != nil {
		y.Grad, y.Of = x.Grad, x.Of
	} else if tp.Tracks(x) {
		record(tp, y, reshape{x})
	}
	return y
}

type reshape struct{ x *tensor.Tensor }

func (o *reshape) backward(tp *Tape, dy device.Mat) { tp.Give(o.x, dy.Buf) }

// Columns views the columns [lo, hi) of x: [..., c] → [..., hi−lo].
func Columns(tp *Tape, x *tensor.Tensor, lo, hi int) *tensor.Tensor {
	if lo < 0 || hi < lo || hi > x.Cols() {
		panic(tensor.Mismatch("columns", "a range of columns within the tensor", x.Shape(), []int{lo, hi}))
	}
	shape := widened(x, hi-lo)
	y := tp.header(shape.list())
	y.Stride, y.GradStride, y.Tracked = x.Stride, x.GradStride, x.Tracked
	if y.Len() == 0 {
		y.Tracked = false
		return y
	}
	y.Data = x.Data.Slice(lo, x.Data.Len)
	if x.Of != nil {
		y.Of = x.Of
		if x.Grad.Len > 0 {
			y.Grad = x.Grad.Slice(lo, x.Grad.Len)
		}
	} else if tp.Tracks(x) {
		record(tp, y, window{x, lo, false})
	}
	return y
}

// window is a view of columns, or of rows, from a place on.
type window struct {
	x    *tensor.Tensor
	at   int
	rows bool
}

func (o *window) backward(tp *Tape, dy device.Mat) {
	first := o.x.Grad.Len == 0
	part, _ := place(tp.Accum(o.x), dy, o.at, o.rows)
	if first {
		tp.dev.Copy(part, dy)
	} else {
		tp.add(part, dy)
	}
	tp.Recycle(dy.Buf)
}

// Rows views part [lo, hi) of the first dimension: [n, ...] → [hi−lo, ...]. Of a parameter it shares the gradient.
func Rows(tp *Tape, x *tensor.Tensor, lo, hi int) *tensor.Tensor {
	if x.Rank() == 1 {
		return Columns(tp, x, lo, hi)
	}
	if lo < 0 || hi < lo || hi > x.Dim(0) {
		panic(tensor.Mismatch("rows", "a range of rows within the tensor", x.Shape(), []int{lo, hi}))
	}
	y := band(tp, x, lo, hi)
	if y.Tracked && x.Of == nil {
		record(tp, y, window{x, lo * (x.Rows() / x.Dim(0)), true})
	}
	return y
}

// Split views the first n of the first dimension, and the rest: [m, ...] → [n, ...] and [m−n, ...].
func Split(tp *Tape, x *tensor.Tensor, n int) (head, tail *tensor.Tensor) {
	if x.Rank() < 2 || n < 0 || n > x.Dim(0) {
		panic(tensor.Mismatch("split", "a place within the first of several dimensions", x.Shape(), []int{n}))
	}
	head, tail = band(tp, x, 0, n), band(tp, x, n, x.Dim(0))
	if x.Of == nil && (head.Tracked || tail.Tracked) {
		Record(tp, split{x, head, tail})
	}
	return head, tail
}

type split struct{ x, head, tail *tensor.Tensor }

func (o *split) Backward(tp *Tape) {
	a, b := tp.Take(o.head), tp.Take(o.tail)
	if a.Len == 0 && b.Len == 0 {
		return
	}
	g := tp.Scratch(o.x.Len())
	cut := o.head.Len()
	tp.copyOrZero(g.Slice(0, cut), a)
	tp.copyOrZero(g.Slice(cut, g.Len), b)
	tp.Give(o.x, g)
	tp.Recycle(a)
	tp.Recycle(b)
}

func (tp *Tape) copyOrZero(y, x device.Buffer) {
	if x.Len == 0 {
		tp.zero(y)
		return
	}
	tp.dev.Copy(y.Mat(1, y.Len), x.Mat(1, x.Len))
}

// band is the view of part [lo, hi) of the first of at least two dimensions, not recorded.
func band(tp *Tape, x *tensor.Tensor, lo, hi int) *tensor.Tensor {
	shape := widened(x, x.Cols())
	shape.d[0] = hi - lo
	y := tp.header(shape.list())
	y.Stride, y.GradStride = x.Stride, x.GradStride
	if y.Len() == 0 {
		return y
	}
	y.Tracked = x.Of != nil && x.Tracked || tp.Tracks(x)
	each := x.Rows() / x.Dim(0)
	y.Data = x.Mat().Band(lo*each, hi*each).Buf
	if x.Of != nil {
		y.Of = x.Of
		if x.Grad.Len > 0 {
			y.Grad = x.GradMat().Band(lo*each, hi*each).Buf
		}
	}
	return y
}

// Concat puts tensors side by side: [..., a], [..., b], … → [..., a+b+…].
func Concat(tp *Tape, parts ...*tensor.Tensor) *tensor.Tensor {
	width := 0
	for _, p := range parts {
		if p.Rank() != parts[0].Rank() || p.Rows() != parts[0].Rows() {
			panic(tensor.Mismatch("concat", "tensors that differ in the last dimension only",
				parts[0].Shape(), p.Shape()))
		}
		width += p.Cols()
	}
	return tp.join(widened(parts[0], width), parts, false)
}

// Stack puts tensors below each other: [a, ...], [b, ...], … → [a+b+…, ...].
func Stack(tp *Tape, parts ...*tensor.Tensor) *tensor.Tensor {
	n := 0
	for _, p := range parts {
		if p.Rank() < 2 || p.Rank() != parts[0].Rank() || p.Len()*parts[0].Dim(0) != parts[0].Len()*p.Dim(0) ||
			p.Cols() != parts[0].Cols() {
			panic(tensor.Mismatch("stack", "tensors of several dimensions that differ in the first only",
				parts[0].Shape(), p.Shape()))
		}
		n += p.Dim(0)
	}
	shape := widened(parts[0], parts[0].Cols())
	shape.d[0] = n
	return tp.join(shape, parts, true)
}

// join copies parts side by side, or below each other.
func (tp *Tape) join(shape *dims, parts []*tensor.Tensor, below bool) *tensor.Tensor {
	y := tp.New(shape.list()...)
	for _, p := range parts {
		y.Tracked = tp.Tracks(p) || y.Tracked
	}
	if y.Len() == 0 {
		return y
	}
	at := 0
	for _, p := range parts {
		var to device.Mat
		if to, at = place(y.Mat(), p.Mat(), at, below); p.Len() > 0 {
			tp.dev.Copy(to, p.Mat())
		}
	}
	if y.Tracked {
		record(tp, y, joined{tp.list(parts), below})
	}
	return y
}

type joined struct {
	parts []*tensor.Tensor
	below bool
}

// place is where part p lies in the whole m, rows or columns of it from at on, and where the next one begins.
func place(m, p device.Mat, at int, rows bool) (device.Mat, int) {
	if rows {
		return m.Band(at, at+p.Rows), at + p.Rows
	}
	return m.Columns(at, at+p.Cols), at + p.Cols
}

func (o *joined) backward(tp *Tape, dy device.Mat) {
	at := 0
	for _, p := range o.parts {
		var from device.Mat
		if from, at = place(dy, p.Mat(), at, o.below); p.Len() > 0 {
			tp.GiveCopy(p, from)
		}
	}
	tp.Recycle(dy.Buf)
}
