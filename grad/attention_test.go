package grad_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestAttentionWeights mixes the values by the weights that attention tells, and has them again after the backward
// pass.
func TestAttentionWeights(t *testing.T) {
	const B, heads, Q, K, D = 3, 2, 9, 8, 8
	mask := []int32{ // the second item sees nothing
		1, 1, 0, 1, 1, 0, 1, 1,
		0, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 0, 0, 0, 0, 0, 0,
	}
	wave := func(n, phase int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(math.Sin(float64(7*i + phase)))
		}
		return x
	}
	values := wave(B*K*heads*D, 3)
	for form, dev := range devices(t) {
		for _, record := range []bool{false, true} {
			tp := grad.NewTape(dev, record)
			var in [3]*tensor.Tensor
			// A query has a past, so that the backward pass wants memory after attention's.
			query := func() *tensor.Tensor { return grad.Mul(tp, in[0], in[0]) }
			place := func() grad.Heads {
				tp.Reset(5)
				in[0] = tp.Floats(wave(B*Q*heads*D, 1), B, Q, heads*D)
				in[1] = tp.Floats(wave(B*K*heads*D, 2), B, K, heads*D)
				in[2] = tp.Floats(values, B, K, heads*D)
				for _, x := range in {
					x.Tracked = true
				}
				return grad.Heads{Heads: heads, Mask: tp.Ints(mask), Fill: float32(math.Inf(-1))}
			}
			gradients := func(y *tensor.Tensor) (g [3][]float32) {
				tp.Backward(grad.Sum(tp, grad.Mul(tp, y, y)))
				for i, x := range in {
					g[i] = make([]float32, x.Grad.Len)
					dev.Read(g[i], x.Grad)
				}
				return g
			}
			h := place()
			y := grad.Attention(tp, query(), in[1], in[2], h)
			plain := dense(tp, y)
			plainGrads := gradients(y)

			h = place()
			y, weights := grad.AttentionWeights(tp, query(), in[1], in[2], h)
			if !slices.Equal(weights.Shape(), []int{B, heads, Q, K}) || weights.Tracked {
				t.Fatalf("weights of shape %v, tracked %v", weights.Shape(), weights.Tracked)
			}
			w := dense(tp, weights)
			if got := dense(tp, y); !slices.Equal(got, plain) {
				t.Errorf("%s, record %v: the result is another when weights are asked for", form, record)
			}
			near(t, form, plain, mixed(w, values, B, heads, Q, K, D))
			for i, v := range w {
				if mask[i/(heads*Q*K)*K+i%K] == 0 && v != 0 {
					t.Fatalf("%s: weight %d, of a masked key, is %v", form, i, v)
				}
			}
			for i, g := range gradients(y) {
				if !slices.Equal(g, plainGrads[i]) {
					t.Errorf("%s: the gradient of input %d is another when weights are asked for", form, i)
				}
			}
			if !slices.Equal(dense(tp, weights), w) {
				t.Errorf("%s, record %v: the weights do not outlive the backward pass", form, record)
			}
			tp.Close()
		}
	}
}

// mixed is the sum of values by weight, head by head.
func mixed(w, v []float32, B, heads, Q, K, D int) []float64 {
	y := make([]float64, B*Q*heads*D)
	for i := range w {
		b, h, q, k := i/(heads*Q*K), i/(Q*K)%heads, i/K%Q, i%K
		for d := range D {
			y[((b*Q+q)*heads+h)*D+d] += float64(w[i]) * float64(v[((b*K+k)*heads+h)*D+d])
		}
	}
	return y
}

// TestAttentionWeightsOfNothing: no queries, no weights.
func TestAttentionWeightsOfNothing(t *testing.T) {
	for _, dev := range devices(t) {
		tp := grad.NewTape(dev, true)
		q, k := tp.Zeros(2, 0, 6), tp.Zeros(2, 3, 6)
		y, w := grad.AttentionWeights(tp, q, k, k, grad.Heads{Heads: 2, Mask: device.Ints{}})
		if y.Len() != 0 || !slices.Equal(w.Shape(), []int{2, 2, 0, 3}) {
			t.Errorf("%v and weights %v", y.Shape(), w.Shape())
		}
		tp.Close()
	}
}
