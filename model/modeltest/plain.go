package modeltest

import (
	"fmt"
	"math"
	"slices"
)

// Plain is the weights of a model by name, in float64, and what layers make of them: straight from their equations, one
// sequence at a time, on plain slices. A twin, which computes a second time what a model computes, is written with it;
// it shares nothing with the layers that it is held against.
type Plain map[string][]float64

// Weights are the toy's, under their full names.
func (y *Toy) Weights() Plain {
	w := Plain{}
	for _, p := range y.Params().All() {
		w[p.Name] = y.Read(p.Tensor)
	}
	return w
}

// Linear is W·x + b; a layer without a bias has no parameter of that name.
func (w Plain) Linear(name string, x []float64) []float64 {
	weight := w[name+".weight"]
	if len(weight) == 0 || len(weight)%len(x) != 0 {
		panic(fmt.Sprintf("%s: %d weights against %d inputs", name, len(weight), len(x)))
	}
	y := make([]float64, len(weight)/len(x))
	copy(y, w[name+".bias"])
	for o := range y {
		y[o] += Dot(weight[o*len(x):], x)
	}
	return y
}

// Norm is a layer norm.
func (w Plain) Norm(name string, x []float64) []float64 {
	var mean, variance float64
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v-mean)/math.Sqrt(variance+1e-5)*w[name+".weight"][i] + w[name+".bias"][i]
	}
	return y
}

// FeedForward is two linear layers with a GELU between them.
func (w Plain) FeedForward(first, second string, x []float64) []float64 {
	gelu := func(x float64) float64 { return x * 0.5 * (1 + math.Erf(x/math.Sqrt2)) }
	return w.Linear(second, Each(w.Linear(first, x), gelu))
}

// Mamba is one block: two branches, convolution, selective scan, gate.
func (w Plain) Mamba(name string, seq [][]float64) (out [][]float64) {
	width := len(seq[0])
	rank := (width + 15) / 16
	conv, bias := w[name+".conv1d.weight"], w[name+".conv1d.bias"]
	aLog, skip := w[name+".A_log"], w[name+".D"]
	span, states := len(conv)/width, len(aLog)/width
	state := make([]float64, width*states)
	var branches [][]float64
	for t, x := range seq {
		branches = append(branches, w.Linear(name+".in_proj", x))
		u, y := make([]float64, width), make([]float64, width)
		for c := range u {
			sum := bias[c]
			for j := range span {
				if at := t - span + 1 + j; at >= 0 {
					sum += conv[c*span+j] * branches[at][c]
				}
			}
			u[c] = silu(sum)
		}
		parts := w.Linear(name+".x_proj", u)
		in, read := parts[rank:rank+states], parts[rank+states:]
		for c, delta := range Each(w.Linear(name+".dt_proj", parts[:rank]), Softplus) {
			for i := range states {
				s := &state[c*states+i]
				*s = math.Exp(-delta*math.Exp(aLog[c*states+i]))**s + delta*in[i]*u[c]
				y[c] += read[i] * *s
			}
			y[c] = (y[c] + skip[c]*u[c]) * silu(branches[t][width+c])
		}
		out = append(out, w.Linear(name+".out_proj", y))
	}
	return out
}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

// Softplus is log(1 + eˣ).
func Softplus(x float64) float64 {
	if x > 20 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

// ReLU is x where it is positive, otherwise 0.
func ReLU(x float64) float64 { return max(0, x) }

// Each is f of every number.
func Each(x []float64, f func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// Dot multiplies x with as many numbers of w.
func Dot(w, x []float64) (sum float64) {
	for i, v := range x {
		sum += w[i] * v
	}
	return sum
}

// Dots is every row's product with x.
func Dots(rows [][]float64, x []float64) (y []float64) {
	for _, r := range rows {
		y = append(y, Dot(r, x))
	}
	return y
}

// Plus is a + b, number by number.
func Plus(a, b []float64) []float64 {
	y := slices.Clone(a)
	for i := range y {
		y[i] += b[i]
	}
	return y
}

// Times is a·b, number by number.
func Times(a, b []float64) []float64 {
	y := slices.Clone(a)
	for i := range y {
		y[i] *= b[i]
	}
	return y
}

// PlusRows is Plus row by row.
func PlusRows(a, b [][]float64) [][]float64 {
	var y [][]float64
	for i := range a {
		y = append(y, Plus(a[i], b[i]))
	}
	return y
}

// MeanRows is the mean of rows.
func MeanRows(rows [][]float64) []float64 {
	return SumRows(slices.Repeat([]float64{1 / float64(len(rows))}, len(rows)), rows)
}

// SumRows is the sum of rows, each with its weight.
func SumRows(w []float64, rows [][]float64) []float64 {
	y := make([]float64, len(rows[0]))
	for j, r := range rows {
		for c := range r {
			y[c] += w[j] * r[c]
		}
	}
	return y
}

// Softmax is shares of 1 that are in proportion to eˣ.
func Softmax(x []float64) []float64 {
	top, sum := slices.Max(x), 0.0
	y := Each(x, func(v float64) float64 { return math.Exp(v - top) })
	for _, v := range y {
		sum += v
	}
	return Each(y, func(v float64) float64 { return v / sum })
}

// Padded is a row of features in float64, with zeros up to a width.
func Padded(x []float32, width int) []float64 {
	y := make([]float64, width)
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
