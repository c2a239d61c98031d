package nn_test

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
)

// TestMultiHeadWeights computes the weights of attention from their definition.
func TestMultiHeadWeights(t *testing.T) {
	const batch, queries, keys, width, heads = 3, 2, 5, 6, 2
	dev := cpu.New(cpu.Options{Threads: 2})
	defer dev.Close()
	params := nn.NewParams(5)
	layer := nn.NewMultiHead(params.In("x"), width, heads, 0.5)
	params.Place(dev)
	defer params.Close()
	w, b := params.Read(params.Get("x.in_proj_weight")), params.Read(params.Get("x.in_proj_bias"))
	for i := range b {
		b[i] = float32(i) / 10
	}
	if err := params.Write(params.Get("x.in_proj_bias"), b); err != nil {
		t.Fatal(err)
	}
	q, k, mask := make([]float32, batch*queries*width), make([]float32, batch*keys*width), make([]int32, batch*keys)
	for i := range q {
		q[i] = float32(math.Sin(float64(i)))
	}
	for i := range k {
		k[i] = float32(math.Cos(float64(i)))
	}
	for i := range mask {
		mask[i] = int32(i % 3) // 0 is hidden
	}
	tp := grad.NewTape(dev, true)
	defer tp.Close()
	weights := layer.Weights(tp, tp.Floats(q, batch, queries, width), tp.Floats(k, batch, keys, width), tp.Ints(mask))
	got := make([]float32, weights.Len())
	dev.Read(got, weights.Data)

	project := func(x []float32, row, part, col int) float64 {
		sum := float64(b[part*width+col])
		for j := range width {
			sum += float64(x[row*width+j]) * float64(w[(part*width+col)*width+j])
		}
		return sum
	}
	for row := range batch * queries {
		want := make([]float64, keys)
		for h := range heads {
			var e [keys]float64
			total := 0.0
			for j := range keys {
				key := row/queries*keys + j
				score := 0.0
				for c := h * width / heads; c < (h+1)*width/heads; c++ {
					score += project(q, row, 0, c) * project(k, key, 1, c)
				}
				if mask[key] != 0 {
					e[j] = math.Exp(score / math.Sqrt(width/heads))
				}
				total += e[j]
			}
			for j := range keys {
				want[j] += e[j] / total / heads
			}
		}
		for j, x := range want {
			if d := math.Abs(float64(got[row*keys+j]) - x); !(d < 1e-6) {
				t.Errorf("query %d looks at key %d with %v, want %v", row, j, got[row*keys+j], x)
			}
		}
	}
}
