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
	for _, shape := range [][2]int{{1, 1}, {1, 5}, {7, 3}, {200, 32}, {600, 9}} {
		for _, masked := range []bool{false, true} {
			g.scope(fmt.Sprintf("choice %v masked=%v", shape, masked), func(g *rig) {
				choiceCase(g, shape[0], shape[1], masked)
			})
		}
	}
}

// choiceCase: the loss of a choice among the columns of a row. Every fifth row has no target.
func choiceCase(g *rig, rows, cols int, masked bool) {
	x := g.vector("logits", rows*cols).fill(func(v float64) float64 { return 10 * v })
	targets, keep := make([]int32, rows), make([]int32, rows*cols)
	for i := range keep {
		keep[i] = int32(min(1, i*7%3))
	}
	for r := range targets {
		targets[r] = int32(r * 5 % cols)
		if r%5 == 4 {
			targets[r] = -1
		} else {
			keep[r*cols+int(targets[r])] = 1
		}
	}
	mask := device.Ints{}
	if masked {
		mask = g.indices(keep)
	}
	want := func(r, j int) (p, loss float64) {
		total := 0.0
		for k := range cols {
			if !masked || keep[r*cols+k] != 0 {
				total += math.Exp(x.at(0, r*cols+k))
			}
		}
		if !masked || keep[r*cols+j] != 0 {
			p = math.Exp(x.at(0, r*cols+j)) / total
		}
		return p, -math.Log(p)
	}
	loss, dx, to := g.result("loss", 1), g.result("dlogits", rows*cols), g.indices(targets)
	g.do(func() { g.dev.CE(loss.buf(), dx.buf(), x.buf(), to, mask) })
	if !g.plain() {
		return
	}
	sum := 0.0
	for r, target := range targets {
		if target >= 0 {
			_, l := want(r, int(target))
			sum += l
		}
	}
	loss.want(g, 1e-5, func(_, _ int) float64 { return sum / float64(rows) })
	dx.want(g, 1e-5, func(_, i int) float64 {
		r, j := i/cols, i%cols
		if targets[r] < 0 {
			return 0
		}
		p, _ := want(r, j)
		if j == int(targets[r]) {
			p--
		}
		return p / float64(rows)
	})
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
