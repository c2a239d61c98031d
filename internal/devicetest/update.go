package devicetest

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/device"
)

func testUpdate(g *rig) {
	for _, n := range []int{0, 1, 7, 33, 20000} {
		for _, step := range []int32{1, 2, 1000} {
			for _, decay := range []float32{0, 0.01} {
				u := device.Update{Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: decay}
				name := fmt.Sprintf("n=%d step=%d decay=%v", n, step, decay)
				g.scope("adam "+name, func(g *rig) { updateCase(g, device.Adam, u, n, step) })
				g.scope("rmsprop "+name, func(g *rig) { updateCase(g, device.RMSprop, u, n, step) })
				g.scope("momentum "+name, func(g *rig) { updateCase(g, device.SGD, u, n, step) })
				u.Beta1 = 0
				g.scope("sgd "+name, func(g *rig) { updateCase(g, device.SGD, u, n, step) })
			}
		}
	}
}

// updateCase follows PyTorch's optimizers, in float64 with the decimal constants.
func updateCase(g *rig, rule device.Rule, u device.Update, n int, step int32) {
	w, grad, m := g.total("W", n), g.vector("G", n), g.total("M", n)
	v := g.total("V", n).fill(func(x float64) float64 { return x * x })
	u.Rule, u.W, u.G, u.M, u.V, u.Step = rule, w.buf(), grad.buf(), m.buf(), v.buf(), g.indices([]int32{step})
	g.do(func() { g.dev.Update(u) })
	if !g.plain() {
		return
	}
	const b1, b2, eps, rate = 0.9, 0.999, 1e-8, 1e-3
	slope := func(i int) float64 { return grad.at(0, i) + float64(u.WeightDecay)*w.at(0, i) }
	first := func(i int) float64 { return b1*m.at(0, i) + (1-b1)*slope(i) }
	second := func(i int) float64 { return b2*v.at(0, i) + (1-b2)*slope(i)*slope(i) }
	momentum := func(i int) float64 { return b1*m.at(0, i) + slope(i) }
	t := float64(step)
	move := func(i int) float64 {
		switch {
		case rule == device.Adam:
			return rate / (1 - math.Pow(b1, t)) * first(i) / (math.Sqrt(second(i))/math.Sqrt(1-math.Pow(b2, t)) + eps)
		case rule == device.RMSprop:
			return rate * slope(i) / (math.Sqrt(second(i)) + eps)
		case u.Beta1 > 0:
			return rate * momentum(i)
		}
		return rate * slope(i)
	}
	wantM, wantV := m.at, v.at
	switch {
	case rule == device.Adam:
		wantM = func(_, i int) float64 { return first(i) }
		wantV = func(_, i int) float64 { return second(i) }
	case rule == device.RMSprop:
		wantV = func(_, i int) float64 { return second(i) }
	case u.Beta1 > 0:
		wantM = func(_, i int) float64 { return momentum(i) }
	}
	w.want(g, 3e-7, func(_, i int) float64 { return w.at(0, i) - move(i) })
	m.want(g, 3e-7, wantM)
	v.want(g, 3e-7, wantV)
}
