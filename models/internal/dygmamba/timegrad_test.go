package dygmamba

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model/modeltest"
)

// TestTimeEncoderGradient checks the time encoder where its phases are smooth: with frequencies so low that even the
// filler of 1e10 turns only a few radians, rounding the phase to float32 hardly moves it, and central differences of
// the twin make sense.
func TestTimeEncoderGradient(t *testing.T) {
	toy, _ := golden.Models(t)
	for name, c := range map[string]Config{
		"released": ordinary(func(c *Config) { c.Dropout = 0 }),
		"gamma 1":  ordinary(func(c *Config) { c.Dropout, c.Gamma = 0, 1 }),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c, 2, toy)
			b.lively(t, 0.25)
			for _, part := range []string{"0.time_encoder.w.weight", "0.time_encoder.w.bias"} {
				p := b.Params().Get(part)
				values := make([]float32, p.Len())
				for i := range values {
					values[i] = float32(i+1) * 1e-10
					if part == "0.time_encoder.w.bias" {
						values[i] = 0.4 * float32(i)
					}
				}
				if err := b.Params().Write(p, values); err != nil {
					t.Fatal(err)
				}
			}
			tp := grad.NewTape(b.dev, true)
			b.Params().ZeroGrad()
			tp.Backward(grad.BCE(tp, b.Score(tp, &b.batch), tp.Floats([]float32{1, 0, 1, 0, 1, 0}, 6, 1)))
			twin := b.twin()
			twin.smooth = true
			loss := func() (sum float64) {
				for i, q := range b.batch.Queries {
					x := twin.answer(int(q.Src), int(q.Dst), q.Time).logit
					sum += (modeltest.Softplus(x) - float64(1-i%2)*x) / float64(len(b.batch.Queries))
				}
				return sum
			}
			for part, h := range map[string]float64{"time_encoder.w.weight": 1e-14, "time_encoder.w.bias": 1e-4} {
				g := b.Params().ReadGrad(b.Params().Get("0." + part))
				for i, w := 0, twin.w[part]; i < len(w); i += 37 {
					at := w[i]
					w[i] = at + h
					up := loss()
					w[i] = at - h
					want := (up - loss()) / (2 * h)
					w[i] = at
					if math.Abs(float64(g[i])-want) > 2e-3*math.Abs(want)+1e-13/h {
						t.Errorf("gradient of %s[%d] is %v, want %v", part, i, g[i], want)
					}
				}
			}
		})
	}
}
