package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Conv is a causal depthwise convolution with SiLU: x [B, L, D], w [D, K] or [D, 1, K], bias [D] → [B, L, D]. Elsewhere
// it runs as a part of Mamba only.
func Conv(tp *Tape, x, w, bias *tensor.Tensor) *tensor.Tensor {
	if x.Rank() != 3 || w.Rows() != x.Cols() || bias.Len() != x.Cols() || !w.Dense() {
		panic(tensor.Mismatch("conv", "a sequence [B, L, D], a weight [D, K] and a bias [D]", x.Shape(), w.Shape(),
			bias.Shape()))
	}
	y := tp.Result(x.Shape(), x, w, bias)
	if y.Len() == 0 {
		return y
	}
	c := device.Conv{Batch: x.Dim(0), Len: x.Dim(1), Width: x.Dim(2), Kernel: w.Cols(), X: x.Mat(), W: data(w),
		Bias: data(bias), Y: y.Mat()}
	tp.dev.Conv(c)
	record(tp, y, conv{x, w, bias, c})
	return y
}

type conv struct {
	x, w, bias *tensor.Tensor
	conv       device.Conv
}

func (o *conv) backward(tp *Tape, dy device.Mat) {
	dx := tp.scratchLike(dy)
	tp.dev.ConvGrad(device.ConvGrad{Conv: o.conv, DY: dy, DX: dx, DW: tp.sink(o.w), DBias: tp.sink(o.bias)})
	tp.Give(o.x, dx.Buf)
	tp.Recycle(dy.Buf)
}
