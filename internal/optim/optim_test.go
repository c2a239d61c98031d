package optim_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/optim"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// quadratic is a problem with a known gradient: the loss is Σ scale·w² over a, b and c, of which b is frozen and c
// plays no part.
type quadratic struct {
	dev     device.Device
	params  *nn.Params
	a, b, c *tensor.Tensor
	tape    *grad.Tape
}

var scales = []float32{0.5, -1, 2, 10, 0, 0.01, 3}

func newQuadratic(dev device.Device) *quadratic {
	q := &quadratic{dev: dev, params: nn.NewParams(3), tape: grad.NewTape(dev, true)}
	q.c = q.params.Add("c", nn.Normal, 7)
	q.a = q.params.Add("a", nn.Normal, 7)
	q.b = q.params.Add("b", nn.Normal, 7)
	q.params.Place(dev)
	q.params.Freeze("b")
	return q
}

func (q *quadratic) step(o *optim.Optimizer) {
	tp := q.tape
	tp.Reset(0)
	q.params.ZeroGrad()
	s := tp.Floats(scales, 7)
	a, b := grad.Mul(tp, s, grad.Mul(tp, q.a, q.a)), grad.Mul(tp, s, grad.Mul(tp, q.b, q.b))
	tp.Backward(grad.Sum(tp, grad.Add(tp, a, b)))
	o.Step()
}

func (q *quadratic) values(name string) []float32 { return q.params.Read(q.params.Get(name)) }

// TestRules compares ten steps of each rule with PyTorch's formulas in float64.
func TestRules(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	cases := map[string]struct {
		config optim.Config
		move   func(step int, w, g float64, m, v *float64) float64
	}{
		"adam": {optim.Config{Rule: device.Adam, Rate: 0.01, WeightDecay: 0.1},
			func(step int, w, g float64, m, v *float64) float64 {
				g += 0.1 * w
				*m = 0.9**m + 0.1*g
				*v = 0.999**v + 0.001*g*g
				t := float64(step)
				return w - 0.01/(1-math.Pow(0.9, t))**m/(math.Sqrt(*v)/math.Sqrt(1-math.Pow(0.999, t))+1e-8)
			}},
		"sgd": {optim.Config{Rule: device.SGD, Rate: 0.01}, func(step int, w, g float64, m, v *float64) float64 {
			return w - 0.01*g
		}},
		"sgd with momentum": {optim.Config{Rule: device.SGD, Rate: 0.01, Momentum: 0.9, WeightDecay: 0.1},
			func(step int, w, g float64, m, v *float64) float64 {
				g += 0.1 * w
				*m = 0.9**m + g
				return w - 0.01**m
			}},
		"rmsprop": {optim.Config{Rule: device.RMSprop, Rate: 0.01},
			func(step int, w, g float64, m, v *float64) float64 {
				*v = 0.99**v + 0.01*g*g
				return w - 0.01*g/(math.Sqrt(*v)+1e-8)
			}},
	}
	for name, c := range cases {
		q := newQuadratic(dev)
		o := optim.New(q.params, c.config)
		want, m, v := make([]float64, 7), make([]float64, 7), make([]float64, 7)
		for i, x := range q.values("a") {
			want[i] = float64(x)
		}
		frozen, unreached := q.values("b"), q.values("c")
		for step := 1; step <= 10; step++ {
			q.step(o)
			for i, s := range scales {
				want[i] = c.move(step, want[i], 2*float64(s)*want[i], &m[i], &v[i])
			}
		}
		for i, got := range q.values("a") {
			if math.Abs(float64(got)-want[i]) > 2e-6*max(1, math.Abs(want[i])) {
				t.Errorf("%s: weight %d is %v, want %v", name, i, got, want[i])
			}
		}
		if !slices.Equal(frozen, q.values("b")) || !slices.Equal(unreached, q.values("c")) {
			t.Errorf("%s: a frozen parameter or one without gradient moved", name)
		}
		if o.Steps() != 10 {
			t.Errorf("%s: %d steps, want 10", name, o.Steps())
		}
	}
}

// TestResume interrupts a run, and wants the bits of the uninterrupted one.
func TestResume(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	for _, rule := range []device.Rule{device.Adam, device.SGD, device.RMSprop} {
		config := optim.Config{Rule: rule, Rate: 0.01, Momentum: 0.9}
		whole := newQuadratic(dev)
		o := optim.New(whole.params, config)
		var state optim.State
		var at []float32
		for i := range 8 {
			if i == 4 {
				state, at = o.State(), whole.values("a")
			}
			whole.step(o)
		}
		resumed := newQuadratic(dev)
		if err := resumed.params.Write(resumed.params.Get("a"), at); err != nil {
			t.Fatal(err)
		}
		o = optim.New(resumed.params, config)
		if err := o.Restore(state); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			resumed.step(o)
		}
		if !slices.Equal(whole.values("a"), resumed.values("a")) {
			t.Errorf("rule %d: the resumed run ends elsewhere", rule)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	q := newQuadratic(dev)
	o := optim.New(q.params, optim.Config{Rule: device.Adam, Rate: 0.01})
	for _, bad := range []func(s *optim.State){
		func(s *optim.State) { s.Steps = -1 },
		func(s *optim.State) { s.M["a"] = s.M["a"][1:] },
		func(s *optim.State) { delete(s.V, "c") },
		func(s *optim.State) { s.V = nil },
	} {
		s := o.State()
		bad(&s)
		if err := o.Restore(s); err == nil {
			t.Errorf("restored %+v", s)
		}
	}
}

func TestRuleNames(t *testing.T) {
	for name, want := range map[string]device.Rule{"adam": device.Adam, "sgd": device.SGD, "rmsprop": device.RMSprop} {
		if got, err := optim.Rule(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := optim.Rule("adamw"); err == nil {
		t.Error("adamw was found")
	}
}
