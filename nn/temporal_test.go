package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// plainly is temporal attention as it is written down: keys and values are projected, then attended to.
func plainly(
	tp *grad.Tape, l *nn.TemporalAttention, query, keys *tensor.Tensor, mask device.Ints,
) (y, w *tensor.Tensor) {
	n, width := query.Dim(0), query.Cols()
	q := grad.Reshape(tp, l.Query.Forward(tp, query), n, 1, width)
	k, v := l.Key.Forward(tp, keys), l.Value.Forward(tp, keys) // [n, K, q]
	y, w = grad.AttentionWeights(tp, q, k, v, grad.Heads{Heads: l.Heads, Mask: mask, Fill: -1e10})
	return l.Norm.Add(tp, l.Residual.Forward(tp, grad.Reshape(tp, y, n, width)), query), w
}

// TestTemporalAttention compares answers, weights and gradients with attention as it is written down. One row has no
// keys but padding.
func TestTemporalAttention(t *testing.T) {
	const n, K, q, k, heads = 5, 3, 8, 11, 2
	dev := cpu.New(cpu.Options{Threads: 2})
	defer dev.Close()
	p := nn.NewParams(3)
	l := nn.NewTemporalAttention(p.In("a"), q, k, heads, 0)
	p.Place(dev)
	defer p.Close()
	tp := grad.NewTape(dev, true)
	defer tp.Close()
	wave := func(rate float64, n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(math.Sin(rate * float64(i+1)))
		}
		return x
	}
	full := wave(0.7, n*K*k) // of which columns 4 to 6 are zero
	for i := range full {
		if c := i % k; c >= 4 && c < 7 {
			full[i] = 0
		}
	}
	part := func(lo, hi int) (x []float32) {
		for i := lo; i < len(full); i += k {
			x = append(x, full[i:i+hi-lo]...)
		}
		return x
	}
	gradients := func(inParts bool) (list [][]float32) {
		tp.Reset(0)
		p.ZeroGrad()
		mask := tp.Ints([]int32{1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1})
		query, loss := tp.Floats(wave(0.3, n*q), n, q), tp.Floats(wave(1.1, n*q), n, q)
		query.Tracked = true
		var y, w, first, last *tensor.Tensor
		if inParts {
			first, last = tp.Floats(part(0, 4), n*K, 4), tp.Floats(part(7, k), n*K, k-7)
			first.Tracked, last.Tracked = true, true
			y, w = l.Weigh(tp, query, mask, grad.Part{X: first}, grad.Part{X: last, Lo: 7})
		} else {
			keys := tp.Floats(full, n, K, k)
			keys.Tracked = true
			y, w = plainly(tp, l, query, keys, mask)
			w = grad.MeanSteps(tp, grad.Reshape(tp, w, n, heads, K))
			first = keys
		}
		list = append(list, read(dev, y), read(dev, w))
		tp.Backward(grad.Sum(tp, grad.Mul(tp, y, loss)))
		list = append(list, host(dev, query.Grad))
		if inParts {
			a, b := host(dev, first.Grad), host(dev, last.Grad)
			list = append(list, a, b)
		} else {
			var a, b []float32
			for row := range slices.Chunk(host(dev, first.Grad), k) {
				a, b = append(a, row[:4]...), append(b, row[7:]...)
			}
			list = append(list, a, b)
		}
		for _, x := range p.All() {
			list = append(list, p.ReadGrad(x))
		}
		return list
	}
	want, got := gradients(false), gradients(true)
	for i := range want {
		moves := false
		for j, x := range want[i] {
			if !(math.Abs(float64(got[i][j]-x)) < 1e-5) {
				t.Fatalf("number %d of %d is %v, want %v", j, i, got[i][j], x)
			}
			moves = moves || x != 0
		}
		if len(got[i]) != len(want[i]) || !moves {
			t.Errorf("result %d: %d numbers, want %d, not all zero", i, len(got[i]), len(want[i]))
		}
	}
}

func host(dev device.Device, b device.Buffer) []float32 {
	x := make([]float32, b.Len)
	dev.Read(x, b)
	return x
}
