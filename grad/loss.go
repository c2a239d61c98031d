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

// bce is a loss whose gradient was computed with it.
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

// CE is the mean over rows of the cross-entropy of softmax(logits) against one column of each row, [n, k] → [1]. Where
// mask, as long as the logits, is 0, a column takes no part; an empty mask masks nothing. A row with a negative target
// has no loss.
func CE(tp *Tape, logits *tensor.Tensor, targets, mask device.Ints) *tensor.Tensor {
	if !logits.Dense() || logits.Rows() != targets.Len || mask.Len != 0 && mask.Len != logits.Len() {
		panic(tensor.Mismatch("cross-entropy", "a target for each row, and a mask as long as the logits",
			logits.Shape(), []int{targets.Len, mask.Len}))
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
	tp.dev.CE(y.Data, o.grad, data(logits), targets, mask)
	if y.Tracked {
		Record(tp, o)
	}
	return y
}
