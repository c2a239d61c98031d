package cpu

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// CE computes −log softmax(x)[target] of every row, and the gradient (softmax(x) − onehot(target))/rows. Sums are in
// float64.
func (d *Device) CE(loss, dlogits, logits device.Buffer, targets, mask device.Ints) {
	rows := targets.Len
	cols := logits.Len / max(1, rows)
	var sum float64
	for r, target := range targets.Host[:rows] {
		lo, hi := r*cols, (r+1)*cols
		x, keep := logits.Host[lo:hi], []int32(nil)
		if mask.Len > 0 {
			keep = mask.Host[lo:hi]
		}
		most, total := rowSoftmax(x, keep)
		if target >= 0 {
			sum += math.Log(total) + float64(most) - float64(x[target])
		}
		if dlogits.Len > 0 {
			rowSoftmaxGrad(dlogits.Host[lo:hi], x, keep, int(target), most, total, float64(rows))
		}
	}
	loss.Host[0] = float32(sum / float64(max(1, rows)))
}

// rowSoftmax is the largest number of a row and the sum of e^(x − largest).
func rowSoftmax(x []float32, keep []int32) (most float32, total float64) {
	most = float32(math.Inf(-1))
	for j, v := range x {
		if keep == nil || keep[j] != 0 {
			most = max(most, v)
		}
	}
	for j, v := range x {
		if keep == nil || keep[j] != 0 {
			total += math.Exp(float64(v) - float64(most))
		}
	}
	return most, total
}

// rowSoftmaxGrad writes the gradient of one row; rows is their number.
func rowSoftmaxGrad(dx, x []float32, keep []int32, target int, most float32, total, rows float64) {
	if target < 0 {
		clear(dx)
		return
	}
	for j, v := range x {
		p := 0.0
		if keep == nil || keep[j] != 0 {
			p = math.Exp(float64(v)-float64(most)) / total
		}
		if j == target {
			p--
		}
		dx[j] = float32(p / rows)
	}
}
