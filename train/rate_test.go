package train

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestRateGradient holds the likelihood of events and silence, and its gradient, against float64.
func TestRateGradient(t *testing.T) {
	const n = 40
	gen, rows := rng.New(1, "rows"), rate.Rows{X: make([]float32, n*rate.Width)}
	z := make([]float32, n)
	for i := range n {
		z[i] = float32(4*gen.Float64() - 2)
		rows.Offset = append(rows.Offset, float32(2*gen.Float64()-1))
		rows.Bound = append(rows.Bound, float32(6*gen.Float64()-3))
		rows.Weight = append(rows.Weight, float32(gen.Float64())*float32(i%2))
		rows.Count = append(rows.Count, float32(1-i%2))
	}
	want := func(i int, z float64) float64 {
		log := rate.Log(z+float64(rows.Offset[i]), float64(rows.Bound[i]))
		return float64(rows.Weight[i])*math.Exp(log) - float64(rows.Count[i])*log
	}
	dev := cpu.New(cpu.Options{Threads: 2})
	tp := grad.NewTape(dev, true)
	defer tp.Close()
	tp.Reset(0)
	in := newRateRows(tp, &rows)
	var out *tensor.Tensor
	loss := in.loss(tp, func(tp *grad.Tape, _ *tensor.Tensor) *tensor.Tensor {
		out = tp.Floats(z, n, 1)
		out.Tracked = true
		out.Grad = dev.Alloc(n)
		return out
	})
	tp.Backward(loss)
	got, total, slopes := make([]float32, 1), 0.0, make([]float32, n)
	dev.Read(got, loss.Data)
	dev.Read(slopes, out.Grad)
	for i := range n {
		x := float64(z[i])
		total += want(i, x)
		const h = 1e-5
		slope := (want(i, x+h) - want(i, x-h)) / (2 * h)
		if math.Abs(slope-float64(slopes[i])) > 1e-5*(1+math.Abs(slope)) {
			t.Errorf("row %d: the gradient is %v, want %v", i, slopes[i], slope)
		}
	}
	if math.Abs(total-float64(got[0])) > 1e-4*math.Abs(total) {
		t.Errorf("the loss is %v, want %v", got[0], total)
	}
}
