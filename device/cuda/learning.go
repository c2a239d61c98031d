//go:build linux && !nogpu

package cuda

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// BCE is the loss.
func (d *Device) BCE(loss, dlogits, logits, labels device.Buffer) {
	d.with().buf(loss).buf(dlogits).buf(logits).buf(labels).size(logits.Len)
	d.grid("bce", 1, 1, 256, 1, 0, logits.Len)
}

// CE is the loss of a choice among several.
func (d *Device) CE(loss, dlogits, logits device.Buffer, targets, mask device.Ints) {
	d.with().buf(loss).buf(dlogits).buf(logits).ints(targets).ints(mask).size(targets.Len).
		size(logits.Len / max(1, targets.Len))
	d.grid("ce", 1, 1, 256, 1, 0, logits.Len)
}

// Update moves parameters.
func (d *Device) Update(u device.Update) {
	d.with().num(int(u.Rule)).buf(u.W).buf(u.G).buf(u.M).buf(u.V).double(decimal(u.Rate)).double(decimal(u.Beta1)).
		double(decimal(u.Beta2)).
		float(u.Eps).float(u.WeightDecay).ints(u.Step).size(u.W.Len)
	d.over("update", u.W.Len, u.W.Len)
}

// decimal is the decimal number of seven places that was rounded to f: 0.999, not 0.9990000129.
func decimal(f float32) float64 {
	if f > 1e-4 {
		return math.Round(float64(f)*1e7) / 1e7
	}
	return float64(f)
}
