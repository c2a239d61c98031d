package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// BCE is the mean binary cross-entropy of logits against labels, as many of each → [1].
func BCE(tp *Tape, logits, labels *tensor.Tensor) *tensor.Tensor {
	if logits.Len() != labels.Len() || !logits.Dense() || !labels.Dense() {
		panic(tensor.Mismatch("binary cross-entropy", "as many logits as labels", logits.Shape(), labels.Shape()))
	}
	y := tp.Result([]int{1}, logits)
	if logits.Len() == 0 {
		tp.dev.Zero(y.Data)
		return y
	}
	o := bce{logits: logits, y: y}
	if y.Tracked {
		o.grad = tp.floats.alloc(logits.Len())
	}
	tp.dev.BCE(y.Data, o.grad, data(logits), data(labels))
	if y.Tracked {
		Record(tp, o)
	}
	return y
}

type bce struct {
	logits, y *tensor.Tensor
	grad      device.Buffer // of the loss with respect to the logits
}

func (o *bce) Backward(tp *Tape) {
	g := tp.Take(o.y)
	if g.Len == 0 {
		return
	}
	m := o.grad.Mat(1, o.grad.Len)
	tp.dev.ZipCol(device.Mul, m, m, g)
	tp.Give(o.logits, o.grad)
	tp.Recycle(g)
}
