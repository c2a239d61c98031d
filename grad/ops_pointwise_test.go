package grad_test

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// pointwiseChecks are operations that go number by number.
var pointwiseChecks = checks{
	"add":     func(n, w int) check { return zipCheck(grad.Add, of(n, w), of(n, w), add64) },
	"sub":     func(n, w int) check { return zipCheck(grad.Sub, of(n, w), of(n, w), sub64) },
	"mul":     func(n, w int) check { return zipCheck(grad.Mul, of(n, w), of(n, w), mul64) },
	"add/row": func(n, w int) check { return zipCheck(grad.Add, of(n, w), param(w), add64) },
	"sub/row": func(n, w int) check { return zipCheck(grad.Sub, of(n, w), param(w), sub64) },
	"mul/row": func(n, w int) check { return zipCheck(grad.Mul, of(n, w), of(w), mul64) },
	"add/col": func(n, w int) check { return zipCheck(grad.Add, of(n, w), of(n, 1), add64) },
	"sub/col": func(n, w int) check { return zipCheck(grad.Sub, of(n, w), of(n, 1), sub64) },
	"mul/col": func(n, w int) check { return zipCheck(grad.Mul, of(n, w), of(n, 1), mul64) },
	"mul/view of a column": func(n, w int) check {
		return check{
			[]input{of(n, w), of(n, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.Mul(tp, in[0], grad.Columns(tp, in[1], w-1, w))
			},
			func(in [][]float64) []float64 {
				z := make([]float64, n*w)
				for i := range z {
					z[i] = in[0][i] * in[1][i/w*w+w-1]
				}
				return z
			},
		}
	},
	"square": func(n, w int) check {
		return check{
			[]input{of(n, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Mul(tp, in[0], in[0]) },
			func(in [][]float64) []float64 { return zip64(in[0], in[0], mul64) },
		}
	},
	"scale": func(n, w int) check {
		return check{
			[]input{of(n, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Scale(tp, in[0], -2.5) },
			func(in [][]float64) []float64 { return map64(in[0], func(x float64) float64 { return -2.5 * x }) },
		}
	},

	"relu":     func(n, w int) check { return mapCheck(n, w, device.ReLU, relu64) },
	"gelu":     func(n, w int) check { return mapCheck(n, w, device.GELU, gelu64) },
	"silu":     func(n, w int) check { return mapCheck(n, w, device.SiLU, silu64) },
	"sigmoid":  func(n, w int) check { return mapCheck(n, w, device.Sigmoid, sigmoid64) },
	"tanh":     func(n, w int) check { return mapCheck(n, w, device.Tanh, math.Tanh) },
	"softplus": func(n, w int) check { return mapCheck(n, w, device.Softplus, softplus64) },
	"exp":      func(n, w int) check { return mapCheck(n, w, device.Exp, math.Exp) },
	"cos":      func(n, w int) check { return mapCheck(n, w, device.Cos, math.Cos) },
	"time code": func(n, w int) check {
		mask := someZeros(n, 3)
		return check{
			[]input{{shape: shape(n), lo: 0, hi: 20, fixed: true}, param(w, 1), param(w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.TimeCode(tp, in[0], in[1], in[2], tp.Ints(mask))
			},
			func(in [][]float64) (y []float64) {
				for r, d := range in[0] {
					for c := range w {
						y = append(y, float64(mask[r])*math.Cos(in[1][c]*d+in[2][c]))
					}
				}
				return y
			},
		}
	},
}

func add64(a, b float64) float64 { return a + b }
func sub64(a, b float64) float64 { return a - b }
func mul64(a, b float64) float64 { return a * b }

func zipCheck(
	op func(*grad.Tape, *tensor.Tensor, *tensor.Tensor) *tensor.Tensor, x, y input, f func(a, b float64) float64,
) check {
	cols := x.shape[1]
	return check{
		[]input{x, y},
		func(tp *grad.Tape, in tensors) *tensor.Tensor { return op(tp, in[0], in[1]) },
		func(in [][]float64) []float64 {
			z := make([]float64, len(in[0]))
			for i := range z {
				at := i
				switch {
				case len(y.shape) == 1:
					at = i % cols
				case y.shape[1] == 1:
					at = i / cols
				}
				z[i] = f(in[0][i], in[1][at])
			}
			return z
		},
	}
}

func mapCheck(n, w int, act device.Act, f func(float64) float64) check {
	return check{
		[]input{{shape: shape(n, w), lo: -4, hi: 4}},
		func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Apply(tp, act, in[0]) },
		func(in [][]float64) []float64 { return map64(in[0], f) },
	}
}
