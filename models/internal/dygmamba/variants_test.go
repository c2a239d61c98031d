package dygmamba

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
)

// every is a list of small configurations that take every path through the model.
func every(t testing.TB) map[string]Config {
	_, _, _, c := goldenConfig(t)
	list := map[string]Config{"released": c}
	for _, v := range "abcdef" {
		list["variant "+string(v)] = with(c, func(c *Config) { c.Variant = string(v) })
	}
	list["paper"] = with(c, func(c *Config) { c.Arch = Paper })
	list["paper, patches of 3"] = with(c, func(c *Config) { c.Arch, c.Patch = Paper, 3 })
	list["one position a patch"] = with(c, func(c *Config) { c.Patch = 1 })
	list["patches that do not divide the length"] = with(c, func(c *Config) { c.Patch, c.Length = 3, 7 })
	list["wide"] = with(c, func(c *Config) { c.Divisor, c.Gamma, c.Layers = 1, 1, 3 })
	long := func(c *Config) { c.Padding, c.Length = model.PadCall, 64 } // longer than any history: sides differ
	list["by call"] = with(c, long)
	list["by call, variant c"] = with(c, func(c *Config) { long(c); c.Variant = "c" })
	list["by call, paper"] = with(c, func(c *Config) { long(c); c.Arch = Paper })
	list["features narrower than expected"] = with(c, func(c *Config) { c.NodeDim, c.EdgeDim = 11, 13 })
	return list
}

func with(c Config, change func(*Config)) Config {
	change(&c)
	return c
}

// lively draws weights large enough for every part of the model to matter.
func (b *bench) lively(t testing.TB, scale float64) {
	w := map[string][]float32{}
	for _, p := range b.Params().All() {
		x := b.Params().Read(p)
		if last := bare(p.Name); last != "time_encoder.w.weight" {
			for i := range x {
				x[i] += float32(scale * math.Sin(float64(7*i+3*len(w)+len(p.Name))))
			}
		}
		w[p.Name] = x
	}
	b.set(t, w)
}

// toys is the toy graph with and without its features.
func toys(t testing.TB) map[string]golden.Toy {
	toy, _ := golden.Models(t)
	bare := toy
	bare.NodeFeatures.Data, bare.EdgeFeatures.Data = nil, make([]float32, len(toy.EdgeFeatures.Data))
	edges := toy
	edges.NodeFeatures.Data = nil
	return map[string]golden.Toy{"features": toy, "no features": bare, "edge features": edges}
}

// spread checks that answers differ enough for a comparison of them to mean anything.
func spread(t *testing.T, x []float64) {
	t.Helper()
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
	}
	if hi-lo < 1e-3 {
		t.Errorf("all answers are nearly equal: %v", x)
	}
}

func TestModelIsItsTwin(t *testing.T) {
	for name, c := range every(t) {
		for features, toy := range toys(t) {
			t.Run(name+", "+features, func(t *testing.T) {
				b := newBench(t, c, 2, toy)
				b.lively(t, 0.4)
				twin := b.twin()
				tp := grad.NewTape(b.dev, false)
				out, weights := b.Weigh(tp, &b.batch)
				var zu, zv, zt, logit []float64
				var beta [2][]float64
				for _, q := range b.batch.Queries {
					a := twin.answer(int(q.Src), int(q.Dst), q.Time)
					zu, zv, zt = append(zu, a.zu...), append(zv, a.zv...), append(zt, a.zt...)
					logit = append(logit, a.logit)
					for i, side := range [2][]float64{a.betaU, a.betaV} {
						beta[i] = append(beta[i], fit(side, b.batch.Rows[i].Len/c.Patch)...)
					}
				}
				spread(t, logit)
				modeltest.Near(t, "z_u", b.read(out.Src), zu, 2e-4)
				modeltest.Near(t, "z_v", b.read(out.Dst), zv, 2e-4)
				modeltest.Near(t, "logit", b.read(b.Head().Logit(tp, out)), logit, 2e-5)
				if c.pattern() {
					modeltest.Near(t, "z_t", b.read(out.Pair), zt, 2e-5)
					modeltest.Near(t, "β of u", b.read(weights[0]), beta[0], 2e-4) // a softmax of large numbers
					modeltest.Near(t, "β of v", b.read(weights[1]), beta[1], 2e-4)
				}
			})
		}
	}
}

// fit puts zeros in front: weights of patches that hold nothing.
func fit(x []float64, n int) []float64 {
	if len(x) == 0 {
		return nil
	}
	return append(make([]float64, n-len(x)), x...)
}

// TestGradients compares the tape's gradients with central differences of the twin's loss, for the largest element of
// each parameter's gradient and another one, moved together. Rounding the phase to float32 gives the time encoder's
// weights no derivative to compare with.
func TestGradients(t *testing.T) {
	for name, c := range every(t) {
		for features, toy := range toys(t) {
			if name != "released" && name != "paper" && features != "edge features" {
				continue
			}
			t.Run(name+", "+features, func(t *testing.T) {
				b := newBench(t, c, 2, toy)
				// Queries of both labels; more would say the same more slowly. Larger weights saturate the softmax, and
				// float32 has little to say about what is left.
				b.gather(t, slices.Clone(b.batch.Queries[:3]))
				b.lively(t, 0.25)
				tp := grad.NewTape(b.dev, true)
				b.Params().ZeroGrad()
				tp.Backward(grad.BCE(tp, b.Score(tp, &b.batch), tp.Floats([]float32{1, 0, 1}, 3, 1)))
				twin := b.twin()
				loss := func() (sum float64) {
					for i, q := range b.batch.Queries {
						x := twin.answer(int(q.Src), int(q.Dst), q.Time).logit
						sum += (modeltest.Softplus(x) - float64(1-i%2)*x) / float64(len(b.batch.Queries))
					}
					return sum
				}
				for _, p := range b.Params().All() {
					if bare(p.Name) == "time_encoder.w.weight" || bare(p.Name) == "time_encoder.w.bias" {
						continue
					}
					g := b.Params().ReadGrad(p)
					top, other := largest(g), len(g)/2
					got := float64(g[top])
					if top != other {
						got += float64(g[other])
					}
					w := twin.w[bare(p.Name)]
					at, and := w[top], w[other]
					moved := func(h float64) float64 {
						w[top], w[other] = at+h, and+h
						defer func() { w[top], w[other] = at, and }()
						return loss()
					}
					const h = 1e-5
					if want := (moved(h) - moved(-h)) / (2 * h); math.Abs(got-want) > 2e-3*math.Abs(want)+2e-6 {
						t.Errorf("gradients of %s[%d] and [%d] add up to %v, want %v", p.Name, top, other, got, want)
					}
				}
			})
		}
	}
}

func largest(x []float32) int {
	at := 0
	for i := range x {
		if math.Abs(float64(x[i])) > math.Abs(float64(x[at])) {
			at = i
		}
	}
	return at
}

func TestParameterCounts(t *testing.T) {
	const predictor = 89097
	tests := []struct {
		patch, divisor int
		gamma          float64
		want           int
	}{
		{1, 2, 0.5, 246220}, {2, 2, 0.5, 270920}, {4, 2, 0.5, 320320}, {8, 2, 0.5, 419120}, {16, 2, 0.5, 616720},
	}
	for _, tt := range tests {
		c := with(Default, func(c *Config) { c.Patch, c.Divisor, c.Gamma = tt.patch, tt.divisor, tt.gamma })
		if got := declare(c, 0).Params().Count(); got != tt.want+predictor {
			t.Errorf("p=%d f=%d γ=%v: %d parameters, want %d", tt.patch, tt.divisor, tt.gamma, got, tt.want+predictor)
		}
	}
	// The paper's table of sizes in MiB, with the presets that fit it.
	for _, tt := range []struct{ preset, data, want string }{
		{"paper-size-a", "lastfm", "2.78"}, {"paper-size-a", "enron", "2.03"},
		{"paper-size-a", "mooc", "1.65"}, {"paper-size-a", "uci", "1.37"},
		{"paper-size-b", "reddit", "3.32"}, {"paper-size-b", "SocialEvo", "3.22"},
	} {
		s, err := Factory.Spec(tt.preset, model.Data{Name: tt.data})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%.2f", float64(declare(*s.Config.(*Config), 0).Params().Count())*4/(1<<20))
		if got != tt.want {
			t.Errorf("%s on %s: %s MiB, want %s", tt.preset, tt.data, got, tt.want)
		}
	}
}
