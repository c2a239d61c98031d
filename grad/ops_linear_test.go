package grad_test

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// linearChecks are operations that multiply matrices.
var linearChecks = checks{
	"linear": func(n, w int) check {
		return linearCheck(n, w, device.Identity, func(x float64) float64 { return x })
	},

	"linear/relu":     func(n, w int) check { return linearCheck(n, w, device.ReLU, relu64) },
	"linear/gelu":     func(n, w int) check { return linearCheck(n, w, device.GELU, gelu64) },
	"linear/silu":     func(n, w int) check { return linearCheck(n, w, device.SiLU, silu64) },
	"linear/softplus": func(n, w int) check { return linearCheck(n, w, device.Softplus, softplus64) },
	"linear/tanh":     func(n, w int) check { return linearCheck(n, w, device.Tanh, math.Tanh) },
	"linear/sigmoid":  func(n, w int) check { return linearCheck(n, w, device.Sigmoid, sigmoid64) },
	"linear/no bias": func(n, w int) check {
		return check{
			[]input{of(n, w), param(5, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.Linear(tp, in[0], in[1], nil, device.Identity)
			},
			func(in [][]float64) []float64 { return linear64(in[0], in[1], nil, w, 5) },
		}
	},
	"linear/computed weight": func(n, w int) check {
		return check{
			[]input{of(n, w), of(5, w), of(5)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.Linear(tp, in[0], in[1], in[2], device.GELU)
			},
			func(in [][]float64) []float64 { return map64(linear64(in[0], in[1], in[2], w, 5), gelu64) },
		}
	},
	"linear/views": func(n, w int) check {
		return check{
			[]input{of(n, w+3), param(9, w+2)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				weight := grad.Columns(tp, grad.Rows(tp, in[1], 2, 7), 1, w+1)
				return grad.Linear(tp, grad.Columns(tp, in[0], 2, w+2), weight, nil, device.Identity)
			},
			func(in [][]float64) []float64 {
				weight := columns64(in[1][2*(w+2):7*(w+2)], w+2, 1, w+1)
				return linear64(columns64(in[0], w+3, 2, w+2), weight, nil, w, 5)
			},
		}
	},
	"linear sum": func(n, w int) check {
		return linearSumCheck(n, w, device.Identity, func(x float64) float64 { return x })
	},

	"linear sum/gelu": func(n, w int) check { return linearSumCheck(n, w, device.GELU, gelu64) },
	"linear sum/tanh": func(n, w int) check { return linearSumCheck(n, w, device.Tanh, math.Tanh) },
	"linear parts": func(n, w int) check {
		const p = 3
		return check{
			[]input{of(n, w), param(5, p*w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.LinearParts(tp, in[0], in[1]) },
			func(in [][]float64) (y []float64) {
				for s := range p {
					y = append(y, linear64(in[0], columns64(in[1], p*w, s*w, (s+1)*w), nil, w, 5)...)
				}
				return y
			},
		}
	},

	"matmul/nn": func(n, w int) check { return matMulCheck(n, w, false, false) },
	"matmul/nt": func(n, w int) check { return matMulCheck(n, w, false, true) },
	"matmul/tn": func(n, w int) check { return matMulCheck(n, w, true, false) },
	"matmul/tt": func(n, w int) check { return matMulCheck(n, w, true, true) },
	"matmul/batch": func(n, w int) check {
		return check{
			[]input{of(3, n, w), of(3, 5, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.MatMul(tp, in[0], in[1], false, true) },
			func(in [][]float64) (y []float64) {
				for b := range 3 {
					y = append(y, linear64(in[0][b*n*w:(b+1)*n*w], in[1][b*5*w:(b+1)*5*w], nil, w, 5)...)
				}
				return y
			},
		}
	},
	"matmul/views": func(n, w int) check {
		return check{
			[]input{of(n, w+3), param(w+4, 9)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				b := grad.Columns(tp, grad.Rows(tp, in[1], 3, w+3), 2, 7) // [w, 5]
				return grad.MatMul(tp, grad.Columns(tp, in[0], 2, w+2), b, false, false)
			},
			func(in [][]float64) []float64 {
				b := columns64(in[1][3*9:(w+3)*9], 9, 2, 7)
				return linear64(columns64(in[0], w+3, 2, w+2), transpose64(b, w, 5), nil, w, 5)
			},
		}
	},
	"transpose": func(n, w int) check {
		return check{
			[]input{of(2, n, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Transpose(tp, in[0]) },
			func(in [][]float64) (y []float64) {
				for b := range 2 {
					for c := range w {
						for r := range n {
							y = append(y, in[0][(b*n+r)*w+c])
						}
					}
				}
				return y
			},
		}
	},

	"feed-forward":      func(n, w int) check { return feedForwardCheck(n, w, device.GELU, gelu64) },
	"feed-forward/relu": func(n, w int) check { return feedForwardCheck(n, w, device.ReLU, relu64) },
}

func linearCheck(n, w int, act device.Act, f func(float64) float64) check {
	return check{
		[]input{of(n, w), param(5, w), param(5)},
		func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Linear(tp, in[0], in[1], in[2], act) },
		func(in [][]float64) []float64 { return map64(linear64(in[0], in[1], in[2], w, 5), f) },
	}
}

// linearSumCheck has two parts with rows and one that is the same for all, in the order b, constant, a of the columns.
func linearSumCheck(n, w int, act device.Act, f func(float64) float64) check {
	total := w + 4 + w + 2
	return check{
		[]input{of(n, w), of(4), of(n, w+2), param(5, total), param(5)},
		func(tp *grad.Tape, in tensors) *tensor.Tensor {
			return grad.LinearSum(tp, in[3], in[4], act, grad.Part{X: in[0], Lo: w + 6}, grad.Part{X: in[1], Lo: w + 2},
				grad.Part{X: in[2], Lo: 0})
		},
		func(in [][]float64) []float64 {
			x := []float64{}
			for r := range n {
				x = append(x, in[2][r*(w+2):(r+1)*(w+2)]...)
				x = append(append(x, in[1]...), in[0][r*w:(r+1)*w]...)
			}
			return map64(linear64(x, in[3], in[4], total, 5), f)
		},
	}
}

func matMulCheck(n, w int, transA, transB bool) check {
	a, b := shape(n, w), shape(w, 5)
	if transA {
		a = shape(w, n)
	}
	if transB {
		b = shape(5, w)
	}
	return check{
		[]input{of(a...), of(b...)},
		func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.MatMul(tp, in[0], in[1], transA, transB) },
		func(in [][]float64) []float64 {
			x, y := in[0], in[1]
			if transA {
				x = transpose64(x, w, n)
			}
			if !transB {
				y = transpose64(y, w, 5)
			}
			return linear64(x, y, nil, w, 5)
		},
	}
}

func transpose64(x []float64, r, c int) []float64 {
	y := make([]float64, len(x))
	for i := range r {
		for j := range c {
			y[j*r+i] = x[i*c+j]
		}
	}
	return y
}

func feedForwardCheck(n, w int, act device.Act, f func(float64) float64) check {
	const hidden, out = 9, 5
	return check{
		[]input{of(n, w), param(hidden, w), param(hidden), param(out, hidden), param(out)},
		func(tp *grad.Tape, in tensors) *tensor.Tensor {
			return grad.FeedForward(tp, in[0], &grad.FeedForwardWeights{A: in[1], ABias: in[2], B: in[3], BBias: in[4]},
				act, 0)
		},
		func(in [][]float64) []float64 {
			return linear64(map64(linear64(in[0], in[1], in[2], w, hidden), f), in[3], in[4], hidden, out)
		},
	}
}
