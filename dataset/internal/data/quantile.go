package data

import "math"

// Shares of the time line's events, from the end, that models are validated and tested on.
const ValShare, TestShare = 0.15, 0.15

// TrainEnd is the time up to which models are trained: that of the published protocol, of all times in ascending order.
func TrainEnd(sorted []float64) float64 {
	val, test := ValShare, TestShare // as numbers of 64 bits, which is how splits take them
	return Quantile(sorted, 1-val-test)
}

// Quantile is the q-quantile of ascending values with linear interpolation, to the last bit as NumPy's. It is NaN for
// no values.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	h := q * float64(len(sorted)-1)
	j := int(h)
	g := h - float64(j)
	a, b := sorted[j], sorted[min(j+1, len(sorted)-1)]
	if g < 0.5 { // the products are rounded before they are added, on every machine
		return a + float64((b-a)*g)
	}
	return b - float64((b-a)*(1-g))
}
