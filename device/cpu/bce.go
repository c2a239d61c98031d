package cpu

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// BCE computes from logits x: −log σ(x) = log(1+e⁻ˣ) for the label 1 and log(1+eˣ) for the label 0, held at 100. The
// gradient is (σ(x)−label)/n also where the loss is held, so that a confident mistake is still corrected. Sums are in
// float64.
func (d *Device) BCE(loss, dlogits, logits, labels device.Buffer) {
	n := logits.Len
	var sum float64
	for i, x := range logits.Host[:n] {
		y := labels.Host[i]
		sum += float64(y)*min(100, softplus64(-x)) + float64(1-y)*min(100, softplus64(x))
		if dlogits.Len > 0 {
			dlogits.Host[i] = (sigmoid32(x) - y) / float32(n)
		}
	}
	loss.Host[0] = float32(sum / float64(max(1, n)))
}

// softplus64 is log(1+eˣ).
func softplus64(x float32) float64 {
	v := float64(x)
	return max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
}
