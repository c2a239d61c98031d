package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// normEps is PyTorch's default.
const normEps = 1e-5

// LayerNorm normalises every row of x and applies gamma and beta, [cols] each.
func LayerNorm(tp *Tape, x, gamma, beta *tensor.Tensor) *tensor.Tensor {
	return norm(tp, "layer norm", x, nil, gamma, beta)
}

// AddNorm is LayerNorm of x + residual. It uses x up: the memory of x, which must be the result of an operation that
// nothing else reads, receives the sum.
func AddNorm(tp *Tape, x, residual, gamma, beta *tensor.Tensor) *tensor.Tensor {
	if !tensor.SameShape(x, residual) {
		panic(tensor.Mismatch("add norm", "two tensors of equal shape", x.Shape(), residual.Shape()))
	}
	return norm(tp, "add norm", x, residual, gamma, beta)
}

func norm(tp *Tape, op string, x, residual, gamma, beta *tensor.Tensor) *tensor.Tensor {
	if gamma.Len() != x.Cols() || beta.Len() != x.Cols() {
		panic(tensor.Mismatch(op, "gamma and beta as long as a row", x.Shape(), gamma.Shape(), beta.Shape()))
	}
	y := tp.Result(x.Shape(), x, residual, gamma, beta)
	if y.Len() == 0 {
		return y
	}
	o := layerNorm{x: x, residual: residual, gamma: gamma, beta: beta}
	m := tp.floats.mark()
	o.norm = device.Norm{X: x.Mat(), Gamma: data(gamma), Beta: data(beta), Eps: normEps,
		Stats: tp.floats.alloc(2 * x.Rows()), Y: y.Mat()}
	if residual != nil {
		o.norm.Residual = residual.Mat()
		x.Data = device.Buffer{}
	}
	tp.dev.Norm(o.norm)
	if !record(tp, y, o) {
		tp.floats.release(m)
	}
	return y
}

type layerNorm struct {
	x, residual, gamma, beta *tensor.Tensor
	norm                     device.Norm
}

func (o *layerNorm) backward(tp *Tape, dy device.Mat) {
	dx := tp.scratchLike(dy)
	tp.dev.NormGrad(device.NormGrad{Norm: o.norm, DY: dy, DX: dx, DGamma: tp.sink(o.gamma), DBeta: tp.sink(o.beta)})
	if o.residual != nil {
		tp.GiveCopy(o.residual, dx)
	}
	tp.Give(o.x, dx.Buf)
	tp.Recycle(dy.Buf)
	tp.Recycle(o.norm.Stats)
}

// sink is where a kernel may add the gradient of t: nowhere if t is missing, and memory that nobody reads if no
// gradient is wanted.
func (tp *Tape) sink(t *tensor.Tensor) device.Buffer {
	switch {
	case t == nil:
		return device.Buffer{}
	case t.Tracked:
		return tp.Accum(t).Buf.Slice(0, t.Len())
	}
	b := tp.Scratch(t.Len())
	tp.zero(b)
	return b
}
