package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// FeedForwardWeights are two linear maps, in → hidden → out.
type FeedForwardWeights struct {
	A, ABias *tensor.Tensor // [hidden, in], [hidden]
	B, BBias *tensor.Tensor // [out, hidden], [out]
}

// FeedForward is drop(B·drop(act(A·x + a)) + b), with dropout of the given rate: x [..., in] → [..., out]. As one
// operation it drops in place and keeps the hidden layer once instead of twice; that works for ReLU, whose sign a
// dropout keeps, and for GELU and SiLU.
func FeedForward(tp *Tape, x *tensor.Tensor, w *FeedForwardWeights, act device.Act, rate float32) *tensor.Tensor {
	if w.A.Rank() != 2 || w.B.Rank() != 2 || x.Cols() != w.A.Cols() || w.B.Cols() != w.A.Rows() {
		panic(tensor.Mismatch("feed-forward", "an input [..., in], weights [hidden, in] and [out, hidden]", x.Shape(),
			w.A.Shape(), w.B.Shape()))
	}
	checkBias("feed-forward", w.A, w.ABias)
	checkBias("feed-forward", w.B, w.BBias)
	shape := widened(x, w.B.Rows())
	y := tp.Result(shape.list(), x, w.A, w.ABias, w.B, w.BBias) // [..., out]
	if y.Len() == 0 {
		return y
	}
	start := tp.floats.mark()
	o := feedForward{x: x, y: y, w: *w, act: act, inner: tp.NextDrop(rate), outer: tp.NextDrop(rate)}
	o.forward(tp)
	if !record(tp, y, o) {
		tp.floats.release(start)
	}
	return y
}

type feedForward struct {
	x, y         *tensor.Tensor
	w            FeedForwardWeights
	act          device.Act
	pre, hidden  device.Mat // [n, hidden] before the activation; after it and after dropout
	inner, outer device.Drop
}

func (o *feedForward) forward(tp *Tape) {
	n, h := o.x.Rows(), o.w.A.Rows()
	o.hidden = tp.floats.alloc(n*h).Mat(n, h)
	g := device.Gemm{TransB: true, Bias: data(o.w.ABias), Act: o.act, Drop: o.inner}
	if o.y.Tracked && readsInput(o.act) {
		o.pre = tp.floats.alloc(n*h).Mat(n, h)
		g.Pre = o.pre
	}
	tp.dev.MatMul(o.hidden, o.x.Mat(), o.w.A.Mat(), g)
	tp.dev.MatMul(o.y.Mat(), o.hidden, o.w.B.Mat(), device.Gemm{TransB: true, Bias: data(o.w.BBias), Drop: o.outer})
}

func (o *feedForward) backward(tp *Tape, dy device.Mat) {
	tp.drop(dy, o.outer)
	tp.biasGrad(o.w.BBias, dy)
	tp.weightGrad(o.w.B, dy, o.hidden)
	dh := tp.scratchLike(o.hidden)
	tp.dev.MatMul(dh, dy, o.w.B.Mat(), device.Gemm{})
	tp.mapGrad(o.act, dh, o.pre, o.hidden, o.inner)
	tp.biasGrad(o.w.ABias, dh)
	tp.weightGrad(o.w.A, dh, o.x.Mat())
	tp.product(o.x, dh, o.w.A.Mat(), device.Gemm{})
	for _, m := range [...]device.Mat{dy, dh, o.hidden, o.pre} {
		tp.Recycle(m.Buf)
	}
}

// drop applies a dropout in place.
func (tp *Tape) drop(x device.Mat, d device.Drop) {
	if d.Rate > 0 {
		tp.dev.Dropout(x, x, d)
	}
}
