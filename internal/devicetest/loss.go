package devicetest

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/device"
)

func testLoss(g *rig) {
	for _, n := range []int{1, 7, 33, 400, 5000} {
		for _, spread := range []float64{1, 40} {
			g.scope(fmt.Sprintf("n=%d spread=%v", n, spread), func(g *rig) { lossCase(g, n, spread) })
		}
	}
	g.scope("held", lossHeld)
}

func lossCase(g *rig, n int, spread float64) {
	x := g.vector("logits", n).fill(func(v float64) float64 { return spread * v })
	y := g.vector("labels", n).fill(func(v float64) float64 { return math.Round(math.Abs(math.Sin(v))) })
	loss, dx := g.result("loss", 1), g.result("dlogits", n)
	g.do(func() { g.dev.BCE(loss.buf(), dx.buf(), x.buf(), y.buf()) })
	if g.plain() {
		var sum float64
		for i := range n {
			v := x.at(0, i)
			sum += y.at(0, i)*min(100, math.Log1p(math.Exp(-v))) + (1-y.at(0, i))*min(100, math.Log1p(math.Exp(v)))
		}
		loss.want(g, 1e-5, func(_, _ int) float64 { return sum / float64(n) })
		dx.want(g, 1e-5, func(_, i int) float64 { return (1/(1+math.Exp(-x.at(0, i))) - y.at(0, i)) / float64(n) })
	}
	alone := g.result("loss alone", 1)
	g.do(func() {
		g.dev.BCE(loss.buf(), dx.buf(), x.buf(), y.buf())
		g.dev.BCE(alone.buf(), device.Buffer{}, x.buf(), y.buf())
	})
	if loss.now[loss.offset] != alone.now[alone.offset] {
		g.Errorf("loss is %v with a gradient and %v without", loss.now[loss.offset], alone.now[alone.offset])
	}
}

// lossHeld: mistakes beyond a loss of 100 count as 100, and are still pushed back.
func lossHeld(g *rig) {
	wrong := []float64{150, -150, 1e30, -1e30}
	x, y := g.vector("logits", 4), g.vector("labels", 4)
	for i, v := range wrong {
		x.init[x.place(0, i)] = float32(v)
		y.init[y.place(0, i)] = float32(i % 2)
	}
	loss, dx := g.result("loss", 1), g.result("dlogits", 4)
	g.do(func() { g.dev.BCE(loss.buf(), dx.buf(), x.buf(), y.buf()) })
	loss.want(g, 1e-6, func(_, _ int) float64 { return 100 })
	dx.want(g, 1e-6, func(_, i int) float64 { return 0.25 - 0.5*float64(i%2) })
}
