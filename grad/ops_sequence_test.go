package grad_test

import (
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// sequenceChecks are operations that go over sequences.
var sequenceChecks = checks{
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
