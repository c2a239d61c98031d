package cpu

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// Update moves parameters as PyTorch's optimizers of the same names do.
//
//	Adam     g += decay·w;  m += (1−β₁)(g−m);  v = β₂v + (1−β₂)g²;  w −= rate/(1−β₁ᵗ) · m / (√v/√(1−β₂ᵗ) + ε)
//	SGD      g += decay·w;  m = β₁m + g when β₁ > 0, else m is g;   w −= rate·m
//	RMSprop  g += decay·w;  v = β₂v + (1−β₂)g²;                      w −= rate · g / (√v + ε)
func (d *Device) Update(u device.Update) {
	t := updateTask{u: u, loops: &d.loops}
	d.kept.changed(u.W)
	switch b1, b2 := decimal(u.Beta1), decimal(u.Beta2); u.Rule {
	case device.Adam:
		at := float64(u.Step.Host[0])
		t.adam = adamStep{
			decay: u.WeightDecay, mix: float32(1 - b1), beta2: float32(b2), rest2: float32(1 - b2), eps: u.Eps,
			rate:  float32(decimal(u.Rate) / (1 - math.Pow(b1, at))),
			root2: float32(math.Sqrt(1 - math.Pow(b2, at))),
		}
	case device.SGD:
		t.sgd = sgdStep{decay: u.WeightDecay, momentum: u.Beta1, rate: u.Rate}
	case device.RMSprop:
		t.rmsprop = rmspropStep{decay: u.WeightDecay, beta2: float32(b2), rest2: float32(1 - b2),
			eps: u.Eps, rate: u.Rate}
	}
	launch(d, &d.tasks.update, t, u.W.Len, chunkFloats, (*updateTask).move)
}

// decimal is the decimal number of seven places that was rounded to f: 0.999, not 0.9990000129. Complements 1−β and
// powers of β follow the float64 arithmetic of the reference this way.
func decimal(f float32) float64 {
	if f > 1e-4 {
		return math.Round(float64(f)*1e7) / 1e7
	}
	return float64(f)
}

type updateTask struct {
	u       device.Update
	loops   *loops
	adam    adamStep
	sgd     sgdStep
	rmsprop rmspropStep
}

type adamStep struct {
	decay, mix, beta2, rest2, rate, root2, eps float32
}

type sgdStep struct {
	decay, momentum, rate float32
}

type rmspropStep struct {
	decay, beta2, rest2, rate, eps float32
}

func (t *updateTask) move(lo, hi, _ int) {
	w, g := t.u.W.Host[lo:hi], t.u.G.Host[lo:hi]
	switch {
	case t.u.Rule == device.Adam:
		t.loops.adam(w, g, t.u.M.Host[lo:hi], t.u.V.Host[lo:hi], &t.adam)
	case t.u.Rule == device.RMSprop:
		t.loops.rmsprop(w, g, t.u.V.Host[lo:hi], &t.rmsprop)
	case t.u.Beta1 > 0:
		t.loops.sgd(w, g, t.u.M.Host[lo:hi], &t.sgd)
	default:
		t.loops.sgd(w, g, nil, &t.sgd)
	}
}

func adamPlain(w, g, m, v []float32, s *adamStep) {
	for i := range w {
		d := g[i] + s.decay*w[i]
		m[i] += s.mix * (d - m[i])
		v[i] = s.beta2*v[i] + s.rest2*d*d
		w[i] -= s.rate * m[i] / (sqrt(v[i])/s.root2 + s.eps)
	}
}

// sgdPlain has no momentum when m is nil.
func sgdPlain(w, g, m []float32, s *sgdStep) {
	for i := range w {
		d := g[i] + s.decay*w[i]
		if m != nil {
			m[i] = s.momentum*m[i] + d
			d = m[i]
		}
		w[i] -= s.rate * d
	}
}

func rmspropPlain(w, g, v []float32, s *rmspropStep) {
	for i := range w {
		d := g[i] + s.decay*w[i]
		v[i] = s.beta2*v[i] + s.rest2*d*d
		w[i] -= s.rate * d / (sqrt(v[i]) + s.eps)
	}
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
