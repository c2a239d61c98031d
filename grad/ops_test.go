package grad_test

import (
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

type tensors = []*tensor.Tensor

func shape(d ...int) []int { return d }

func of(d ...int) input    { return input{shape: d} }
func param(d ...int) input { return input{shape: d, param: true} }

// checks are all operations, at n rows and width w.
var checks = map[string]func(n, w int) check{
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

	"layer norm": func(n, w int) check {
		return check{
			[]input{of(n, w), param(w), param(w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.LayerNorm(tp, in[0], in[1], in[2]) },
			func(in [][]float64) []float64 { return norm64(in[0], in[1], in[2]) },
		}
	},
	"add norm": func(n, w int) check {
		return check{
			[]input{of(n, w), of(n, w), param(w), param(w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.AddNorm(tp, grad.Scale(tp, in[0], 3), in[1], in[2], in[3])
			},
			func(in [][]float64) []float64 {
				return norm64(zip64(in[0], in[1], func(a, b float64) float64 { return 3*a + b }), in[2], in[3])
			},
		}
	},
	"softmax": func(n, w int) check {
		return check{
			[]input{of(n, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Softmax(tp, in[0], device.Ints{}, 0) },
			func(in [][]float64) []float64 { return softmax64(in[0], w, nil, 0) },
		}
	},
	"softmax/masked": func(n, w int) check {
		mask := someZeros(n*w, w)
		return check{
			[]input{of(n, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Softmax(tp, in[0], tp.Ints(mask), -1e10) },
			func(in [][]float64) []float64 { return softmax64(in[0], w, mask, -1e10) },
		}
	},

	"conv": func(n, w int) check {
		const L, K = 5, 4
		return check{
			[]input{of(n, L, w), param(w, 1, K), param(w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Conv(tp, in[0], in[1], in[2]) },
			func(in [][]float64) []float64 { return conv64(in[0], in[1], in[2], L, w, K) },
		}
	},
	"scan":       func(n, w int) check { return scanCheck(n, w, false) },
	"scan/exact": func(n, w int) check { return scanCheck(n, w, true) },
	"scan/bare": func(n, w int) check {
		const L, N = 5, 3
		return check{
			[]input{of(n, L, w), {shape: shape(n, L, w), lo: 0.1, hi: 1}, param(w, N), of(n, L, N), of(n, L, N)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.Scan(tp, grad.ScanArgs{U: in[0], Delta: in[1], ALog: in[2], B: in[3], C: in[4]})
			},
			func(in [][]float64) []float64 {
				return scan64(in[0], in[1], in[2], in[3], in[4], nil, nil, L, w, N, false)
			},
		}
	},
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
	"attention":        func(n, w int) check { return attentionCheck(n, w, nil) },
	"attention/masked": func(n, w int) check { return attentionCheck(n, w, someZeros(n*5, 5)) },

	"self-attention": func(n, w int) check {
		const heads, L = 2, 9 // long enough for products
		c := heads * w
		mask := someZeros(n*L, 4)
		return check{
			[]input{of(n, L, 3*c)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.SelfAttention(tp, in[0], grad.Heads{Heads: heads, Mask: tp.Ints(mask), Fill: -1e10})
			},
			func(in [][]float64) []float64 {
				q, k, v := columns64(in[0], 3*c, 0, c), columns64(in[0], 3*c, c, 2*c), columns64(in[0], 3*c, 2*c, 3*c)
				return attention64(q, k, v, heads, L, L, w, mask, -1e10)
			},
		}
	},

	"pool": func(n, w int) check {
		const P = 5
		return check{
			[]input{of(n, P), of(n, P, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Pool(tp, in[0], in[1]) },
			func(in [][]float64) []float64 { return pool64(in[0], in[1], P, w) },
		}
	},
	"dot": func(n, w int) check {
		const P = 5
		return check{
			[]input{of(n, w), of(n, P, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Dot(tp, in[0], in[1]) },
			func(in [][]float64) []float64 {
				y := make([]float64, n*P)
				for i, h := range in[1] {
					y[i/w] += h * in[0][i/(P*w)*w+i%w]
				}
				return y
			},
		}
	},
	"outer": func(n, w int) check {
		const P = 5
		return check{
			[]input{of(n, P), of(n, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Outer(tp, in[0], in[1]) },
			func(in [][]float64) []float64 {
				y := make([]float64, n*P*w)
				for i := range y {
					y[i] = in[0][i/w] * in[1][i/(P*w)*w+i%w]
				}
				return y
			},
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
	"mean of steps": func(n, w int) check {
		const P = 5
		return check{
			[]input{of(n, P, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.MeanSteps(tp, in[0]) },
			func(in [][]float64) []float64 {
				return pool64(slices.Repeat([]float64{1.0 / P}, n*P), in[0], P, w)
			},
		}
	},
	"row sum": func(n, w int) check {
		return check{
			[]input{of(n, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.RowSum(tp, in[0]) },
			func(in [][]float64) []float64 {
				y := make([]float64, n)
				for i, x := range in[0] {
					y[i/w] += x
				}
				return y
			},
		}
	},
	"mean": func(n, w int) check {
		return check{
			[]input{of(n+1, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Mean(tp, in[0]) },
			func(in [][]float64) []float64 {
				s := 0.0
				for _, x := range in[0] {
					s += x
				}
				return []float64{s / float64(len(in[0]))}
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

	"rnn": func(n, w int) check {
		return cellCheck(n, w, 1, func(tp *grad.Tape, x, h *tensor.Tensor, cw grad.CellWeights) *tensor.Tensor {
			return grad.RNN(tp, x, h, cw)
		}, func(gx, gh, h []float64) []float64 {
			return zip64(gx, gh, func(a, b float64) float64 { return math.Tanh(a + b) })
		})
	},
	"gru": func(n, w int) check {
		return cellCheck(n, w, 3, grad.GRU, func(gx, gh, h []float64) []float64 { return gru64(gx, gh, h, w) })
	},
	"lstm": func(n, w int) check {
		return cellCheck(n, w, 4, func(tp *grad.Tape, x, h *tensor.Tensor, cw grad.CellWeights) *tensor.Tensor {
			state, carry := grad.LSTM(tp, x, h, grad.Scale(tp, h, 0.5), cw)
			return grad.Concat(tp, state, carry)
		}, func(gx, gh, h []float64) (y []float64) {
			state, carry := lstm64(gx, gh, map64(h, func(x float64) float64 { return x / 2 }), w)
			for r := 0; r < len(h); r += w {
				y = append(append(y, state[r:r+w]...), carry[r:r+w]...)
			}
			return y
		})
	},
	"lstm/state only": func(n, w int) check {
		return cellCheck(n, w, 4, func(tp *grad.Tape, x, h *tensor.Tensor, cw grad.CellWeights) *tensor.Tensor {
			state, _ := grad.LSTM(tp, x, h, h, cw)
			return state
		}, func(gx, gh, h []float64) []float64 {
			state, _ := lstm64(gx, gh, h, w)
			return state
		})
	},

	"mamba": func(n, w int) check {
		const L, N, K = 5, 3, 4
		R := (w + 15) / 16
		return check{
			[]input{of(n, L, w), param(w, N), param(w), param(2*w, w), param(w, 1, K), param(w), param(R+2*N, w),
				param(w, R), param(w), param(w, w)},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.Mamba(tp, in[0], mambaWeights(in[1:])) },
			func(in [][]float64) []float64 { return mamba64(in[0], in[1:], L, w, N, K, R) },
		}
	},
	"feed-forward":      func(n, w int) check { return feedForwardCheck(n, w, device.GELU, gelu64) },
	"feed-forward/relu": func(n, w int) check { return feedForwardCheck(n, w, device.ReLU, relu64) },

	"cross-entropy": func(n, w int) check {
		return check{
			[]input{{shape: shape(n, w), lo: -8, hi: 8}, {shape: shape(n, w), lo: 0, hi: 1, fixed: true}},
			func(tp *grad.Tape, in tensors) *tensor.Tensor { return grad.BCE(tp, in[0], in[1]) },
			func(in [][]float64) []float64 {
				s := 0.0
				for i, x := range in[0] {
					s += (softplus64(-x)*in[1][i] + softplus64(x)*(1-in[1][i])) / float64(len(in[0]))
				}
				return []float64{s}
			},
		}
	},
}

func add64(a, b float64) float64 { return a + b }
func sub64(a, b float64) float64 { return a - b }
func mul64(a, b float64) float64 { return a * b }

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

func scanCheck(n, w int, exact bool) check {
	const L, N = 4, 5 // the device tests have the usual 16 states
	return check{
		[]input{of(n, L, w), {shape: shape(n, L, w), lo: 0.05, hi: 1}, param(w, N), of(n, L, N), of(n, L, N),
			param(w), of(n, L, w)},
		func(tp *grad.Tape, in tensors) *tensor.Tensor {
			return grad.Scan(tp, grad.ScanArgs{U: in[0], Delta: in[1], ALog: in[2], B: in[3], C: in[4], Skip: in[5],
				Gate: in[6], Exact: exact})
		},
		func(in [][]float64) []float64 {
			return scan64(in[0], in[1], in[2], in[3], in[4], in[5], in[6], L, w, N, exact)
		},
	}
}

func attentionCheck(n, w int, mask []int32) check {
	const heads, Q, K = 2, 3, 5
	return check{
		[]input{of(n, Q, heads*w), of(n, K, heads*w), of(n, K, heads*w)},
		func(tp *grad.Tape, in tensors) *tensor.Tensor {
			return grad.Attention(tp, in[0], in[1], in[2], grad.Heads{Heads: heads, Mask: tp.Ints(mask), Fill: -1e10})
		},
		func(in [][]float64) []float64 { return attention64(in[0], in[1], in[2], heads, Q, K, w, mask, -1e10) },
	}
}

func pool64(w, h []float64, P, D int) []float64 {
	y := make([]float64, len(w)/P*D)
	for i, x := range h {
		y[i/(P*D)*D+i%D] += w[i/D] * x
	}
	return y
}

func cellCheck(
	n, w, gates int, cell func(*grad.Tape, *tensor.Tensor, *tensor.Tensor, grad.CellWeights) *tensor.Tensor,
	f func(gx, gh, h []float64) []float64,
) check {
	const in = 4
	g := gates * w
	return check{
		[]input{of(n, in), of(n, w), param(g, in), param(g), param(g, w), param(g)},
		func(tp *grad.Tape, v tensors) *tensor.Tensor {
			return cell(tp, v[0], v[1], grad.CellWeights{In: v[2], InBias: v[3], State: v[4], StateBias: v[5]})
		},
		func(v [][]float64) []float64 {
			return f(linear64(v[0], v[2], v[3], in, g), linear64(v[1], v[4], v[5], w, g), v[1])
		},
	}
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

func mambaWeights(w tensors) *grad.MambaWeights {
	return &grad.MambaWeights{ALog: w[0], Skip: w[1], In: w[2], Conv: w[3], ConvB: w[4], X: w[5], Dt: w[6],
		DtB: w[7], Out: w[8]}
}

// someZeros is a mask of n ones and zeros; the first run of row entries is all zeros.
func someZeros(n, row int) []int32 {
	mask := make([]int32, n)
	for i := range mask {
		if i >= row && i%3 != 1 {
			mask[i] = 1
		}
	}
	return mask
}
