package cpu

import "math"

// The inner loops on single rows.

func dotPlain(x, y []float32) (sum float32) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

func sumPlain(x []float32) (sum float32) {
	for _, v := range x {
		sum += v
	}
	return sum
}

func axpyPlain(y, x []float32, k float32) {
	for i, v := range x {
		y[i] += k * v
	}
}

func softmaxPlain(x []float32) {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	if math.IsInf(float64(top), -1) {
		clear(x)
		return
	}
	var sum float32
	for i, v := range x {
		x[i] = exp32(v - top)
		sum += x[i]
	}
	scale := 1 / sum
	for i := range x {
		x[i] *= scale
	}
}
