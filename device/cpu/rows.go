package cpu

import "math"

// rowLoops are the inner loops on single rows, in their plain or their vector form. Slices of one call have the same
// length.
type rowLoops struct {
	dot     func(x, y []float32) float32
	sum     func(x []float32) float32
	axpy    func(y, x []float32, k float32) // y += k·x
	softmax func(x []float32)               // in place, not empty; all −Inf gives zeros
}

func plainRowLoops() rowLoops {
	return rowLoops{dot: dotPlain, sum: sumPlain, axpy: axpyPlain, softmax: softmaxPlain}
}

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
