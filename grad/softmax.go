package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Softmax turns every row of x into weights that sum to one. Where mask, of zeros and ones and as long as x, is 0, x
// counts as fill; an empty mask masks nothing.
func Softmax(tp *Tape, x *tensor.Tensor, mask device.Ints, fill float32) *tensor.Tensor {
	if mask.Len != 0 && mask.Len != x.Len() {
		panic(tensor.Mismatch("softmax", "a mask as long as the tensor", x.Shape(), []int{mask.Len}))
	}
	y := tp.Result(x.Shape(), x)
	if y.Len() == 0 {
		return y
	}
	tp.dev.Softmax(y.Mat(), x.Mat(), mask, fill)
	if y.Tracked {
		Record(tp, softmax{x, y, mask})
	}
	return y
}

type softmax struct {
	x, y *tensor.Tensor
	mask device.Ints
}

func (o *softmax) Backward(tp *Tape) {
	g := tp.Take(o.y)
	if g.Len == 0 {
		return
	}
	m := g.Mat(o.y.Rows(), o.y.Cols())
	tp.dev.SoftmaxGrad(m, o.y.Mat(), m)
	if o.mask.Len > 0 { // a masked number was replaced by a constant: no gradient, also where a whole row is masked
		keep := tp.Scratch(g.Len)
		tp.dev.Gather(keep.Mat(g.Len, 1), tp.constants.Mat(2, 1), o.mask, 1)
		tp.dev.Zip(device.Mul, m, m, keep.Mat(m.Rows, m.Cols))
		tp.Recycle(keep)
	}
	tp.Give(o.x, g)
}
