package grad_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// check is one operation at one size: how the tape runs it, and what it means in float64.
type check struct {
	inputs []input
	run    func(tp *grad.Tape, in []*tensor.Tensor) *tensor.Tensor
	mean   func(in [][]float64) []float64
}

// input is a tensor to differentiate by. Its values are uniform in (lo, hi); 0, 0 stands for (−1, 1).
type input struct {
	shape  []int
	lo, hi float64
	param  bool // a parameter, whose gradient is added to
	fixed  bool // no gradient wanted
}

// sizes are rows and widths: none, one, and numbers that are no multiple of any vector's width.
var sizes = [][2]int{{0, 7}, {1, 1}, {7, 33}, {33, 7}, {7, 1}, {1, 33}}

var poison = slices.Repeat([]float32{float32(math.NaN())}, 1<<18)

// devices are the two forms of every kernel.
func devices(t *testing.T) map[string]device.Device {
	t.Helper()
	plain, vector := cpu.New(cpu.Options{Threads: 2, Plain: true}), cpu.New(cpu.Options{Threads: 2})
	t.Cleanup(func() { plain.Close(); vector.Close() })
	return map[string]device.Device{"plain": plain, "vector": vector}
}

// TestGradients compares every operation, forward and backward, with its meaning in float64 and that one's central
// differences.
func TestGradients(t *testing.T) {
	for name, make := range every() {
		for form, dev := range devices(t) {
			for _, s := range sizes {
				t.Run(fmt.Sprintf("%s/%s/%dx%d", name, form, s[0], s[1]), func(t *testing.T) {
					for _, fan := range []bool{false, true} {
						make(s[0], s[1]).test(t, dev, fan)
					}
				})
			}
		}
	}
}

// test runs the check. With fan, every input is used once more after the operation, so that a gradient has already
// arrived when the operation's backward pass runs.
func (c check) test(t *testing.T, dev device.Device, fan bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	tp := grad.NewTape(dev, true)
	defer tp.Close()
	tp.Floats(poison, len(poison)) // so that what is read before it is written shows
	tp.Reset(0)

	values := make([][]float64, len(c.inputs))
	in := make([]*tensor.Tensor, len(c.inputs))
	for i, x := range c.inputs {
		values[i] = x.draw(r)
		in[i] = x.place(tp, dev, values[i])
	}
	y := c.run(tp, in)
	want := c.mean(values)
	if y.Len() != len(want) {
		t.Fatalf("result has shape %v, want %d numbers", y.Shape(), len(want))
	}
	near(t, "forward", dense(tp, y), want)

	// The loss is Σ weight·y, with fan + Σ weight·x.
	weight := draws(r, len(want))
	loss := grad.Sum(tp, grad.Mul(tp, grad.Reshape(tp, y, max(y.Len(), 0)), tp.Floats(narrow(weight), y.Len())))
	extra := make([][]float64, len(in))
	for i, x := range in {
		extra[i] = make([]float64, x.Len())
		if fan && !c.inputs[i].fixed {
			extra[i] = draws(r, x.Len())
			term := grad.Sum(tp, grad.Mul(tp, grad.Reshape(tp, x, x.Len()), tp.Floats(narrow(extra[i]), x.Len())))
			loss = grad.Add(tp, loss, term)
		}
	}
	tp.Backward(loss)

	for i, x := range c.inputs {
		if !x.fixed {
			got := make([]float32, in[i].Len())
			if in[i].Grad.Len > 0 {
				dev.Read(got, in[i].Grad)
			}
			c.compare(t, fmt.Sprintf("gradient of input %d (fan %v)", i, fan), r, values, i, weight, extra[i], got)
		}
	}
}

// compare checks some numbers of the gradient of input i against central differences.
func (c check) compare(
	t *testing.T, what string, r *rand.Rand, values [][]float64, i int, weight, extra []float64, got []float32,
) {
	t.Helper()
	const most, h = 24, 1e-5
	picks := r.Perm(len(got))
	picks = picks[:min(len(picks), most)]
	g, w := make([]float32, len(picks)), make([]float64, len(picks))
	for k, j := range picks {
		old := values[i][j]
		values[i][j] = old + h
		up := c.loss(values, weight)
		values[i][j] = old - h
		down := c.loss(values, weight)
		values[i][j] = old
		g[k], w[k] = got[j], (up-down)/(2*h)+extra[j]
	}
	near(t, what, g, w)
}

func (c check) loss(values [][]float64, weight []float64) float64 {
	s := 0.0
	for i, y := range c.mean(values) {
		s += weight[i] * y
	}
	return s
}

// near fails when a number is off by more than 1e-4 of the larger of one and the largest number.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	scale := 1.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= 1e-4*scale) {
			t.Fatalf("%s: number %d of %d is %g, want %g", what, i, len(want), got[i], w)
		}
	}
}

func (x input) draw(r *rand.Rand) []float64 {
	n := 1
	for _, d := range x.shape {
		n *= d
	}
	v := draws(r, n)
	if x.lo != 0 || x.hi != 0 {
		for i := range v {
			v[i] = float64(float32(x.lo + (x.hi-x.lo)*(v[i]+1)/2))
		}
	}
	return v
}

func (x input) place(tp *grad.Tape, dev device.Device, v []float64) *tensor.Tensor {
	if !x.param {
		t := tp.Floats(narrow(v), x.shape...)
		t.Tracked = !x.fixed
		return t
	}
	t := &tensor.Tensor{}
	t.Set(dev.Alloc(len(v)), x.shape...)
	t.Of, t.Tracked, t.Grad = t, true, dev.Alloc(len(v))
	if len(v) > 0 {
		dev.Write(t.Data, narrow(v))
	}
	return t
}

// draws are numbers in (−1, 1) that float32 holds exactly, away from the kink of ReLU at 0.
func draws(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		for math.Abs(v[i]) < 1e-3 {
			v[i] = float64(float32(2*r.Float64() - 1))
		}
	}
	return v
}

func narrow(v []float64) []float32 {
	f := make([]float32, len(v))
	for i := range v {
		f[i] = float32(v[i])
	}
	return f
}

// dense reads a tensor out, row by row.
func dense(tp *grad.Tape, x *tensor.Tensor) []float32 {
	out := make([]float32, x.Len())
	if len(out) > 0 {
		tmp := tp.New(x.Shape()...)
		tp.Device().Copy(tmp.Mat(), x.Mat())
		tp.Device().Read(out, tmp.Data)
	}
	return out
}
