package grad_test

import (
	"slices"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// viewChecks are operations that look at some of the numbers or put them elsewhere.
var viewChecks = checks{
	"reshape": func(n, w int) check {
		return check{
			[]input{of(2, n, 3*w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Reshape(tp, in[0], 2*n*3, w) },
			func(in [][]float64) []float64 { return in[0] },
		}
	},
	"columns": func(n, w int) check {
		return check{
			[]input{of(n, w+2)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.Concat(tp, grad.Columns(tp, in[0], 1, w+1), grad.Columns(tp, in[0], 0, 1),
					grad.Columns(tp, in[0], 0, 2))
			},
			func(in [][]float64) (y []float64) {
				for r := range n {
					x := in[0][r*(w+2):]
					y = append(append(append(y, x[1:w+1]...), x[0]), x[:2]...)
				}
				return y
			},
		}
	},
	"rows": func(n, w int) check {
		return check{
			[]input{of(n+2, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.Stack(tp, grad.Rows(tp, in[0], 1, n+2), grad.Rows(tp, in[0], 0, 2))
			},
			func(in [][]float64) []float64 { return slices.Concat(in[0][w:], in[0][:2*w]) },
		}
	},
	"split": func(n, w int) check {
		return check{
			[]input{of(n+1, 2, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				head, tail := grad.Split(tp, in[0], n)
				return grad.Stack(tp, grad.Scale(tp, tail, 2), head)
			},
			func(in [][]float64) []float64 {
				return slices.Concat(map64(in[0][2*n*w:], func(x float64) float64 { return 2 * x }), in[0][:2*n*w])
			},
		}
	},
	"split/head only": func(n, w int) check {
		return check{
			[]input{of(n+1, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				head, _ := grad.Split(tp, in[0], 1)
				return grad.Scale(tp, head, 2)
			},
			func(in [][]float64) []float64 { return map64(in[0][:w], func(x float64) float64 { return 2 * x }) },
		}
	},
	"repeat": func(n, w int) check {
		const k = 3
		return check{
			[]input{of(n, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Repeat(tp, in[0], k) },
			func(in [][]float64) []float64 {
				y := make([]float64, n*k*w)
				for i := range y {
					y[i] = in[0][i/(k*w)*w+i%w]
				}
				return y
			},
		}
	},
	"gather": func(n, w int) check {
		const R, per = 6, 2
		rows := make([]int32, n*per)
		for i := range rows {
			rows[i] = int32(i*5%(R+1)) - 1 // −1 to R−1
		}
		return check{
			[]input{of(R, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Gather(tp, in[0], tp.Ints(rows), per) },
			func(in [][]float64) []float64 {
				y := make([]float64, n*w)
				for i := range y {
					for _, r := range rows[i/w*per : i/w*per+per] {
						if r >= 0 {
							y[i] += in[0][int(r)*w+i%w]
						}
					}
				}
				return y
			},
		}
	},
}
