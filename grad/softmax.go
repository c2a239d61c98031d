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
	if y.Len() > 0 {
		tp.dev.Softmax(y.Mat(), x.Mat(), mask, fill)
		record(tp, y, softmax{x, y, mask})
	}
	return y
}

type softmax struct {
	x, y *tensor.Tensor
	mask device.Ints
}

func (o *softmax) backward(tp *Tape, d device.Mat) {
	tp.dev.SoftmaxGrad(d, o.y.Mat(), d)
	if o.mask.Len > 0 { // a masked number was replaced by a constant: no gradient, also where a whole row is masked
		keep := tp.Scratch(d.Buf.Len)
		tp.dev.Gather(keep.Mat(keep.Len, 1), tp.constants.Mat(2, 1), o.mask, 1)
		tp.dev.Zip(device.Mul, d, d, keep.Mat(d.Rows, d.Cols))
		tp.Recycle(keep)
	}
	tp.Give(o.x, d.Buf)
}
