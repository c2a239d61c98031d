package grad_test

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// rowChecks are operations that go row by row.
var rowChecks = checks{
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
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				return grad.Scale(tp, grad.Sum(tp, in[0]), 1/float32(in[0].Len()))
			},
			func(in [][]float64) []float64 {
				s := 0.0
				for _, x := range in[0] {
					s += x
				}
				return []float64{s / float64(len(in[0]))}
			},
		}
	},
	"choice": func(n, w int) check {
		return check{
			[]input{{shape: shape(n, w), lo: -4, hi: 4}},
			func(tp *grad.Tape, in tensors) *tensor.Tensor {
				targets, keep := choices(n, w)
				return grad.CE(tp, in[0], tp.Ints(targets), tp.Ints(keep))
			},
			func(in [][]float64) []float64 {
				targets, keep := choices(n, w)
				loss := 0.0
				for r, target := range targets {
					total := 0.0
					for j := range w {
						total += float64(keep[r*w+j]) * math.Exp(in[0][r*w+j])
					}
					if target >= 0 {
						loss += (math.Log(total) - in[0][r*w+int(target)]) / float64(n)
					}
				}
				return []float64{loss}
			},
		}
	},
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

// choices are targets of n rows, of which every third has none, and a mask that leaves out some of the others.
func choices(n, w int) (targets, keep []int32) {
	for r := range n {
		target := int32(r * 2 % w)
		for j := range w {
			keep = append(keep, int32(min(1, (r+j)%3+max(0, 1-abs(j-int(target))))))
		}
		if r%3 == 2 {
			target = -1
		}
		targets = append(targets, target)
	}
	return targets, keep
}

func abs(x int) int { return max(x, -x) }
