package devicetest

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/device"
)

func testNorm(g *rig) {
	for i, size := range [][2]int{
		{0, 7}, {7, 0}, {1, 1}, {1, 7}, {7, 33}, {33, 8}, {5, 100}, {130, 25}, {344, 20}, {3, 172}, {2, 801},
	} {
		for _, residual := range []bool{false, true} {
			g.scope(fmt.Sprintf("%dx%d residual=%v", size[0], size[1], residual), func(g *rig) {
				normCase(g, size[0], size[1], gaps[i%len(gaps)], residual, 0)
			})
		}
	}
	// A mean far from zero must not cost the variance its digits.
	g.scope("far", func(g *rig) { normCase(g, 4, 100, 5, false, 100) })
	g.scope("constant", normConstant)
}

func normCase(g *rig, rows, cols, gap int, residual bool, shift float64) {
	x := g.in("X", rows, cols, gap).fill(func(v float64) float64 { return v + shift })
	gamma, beta := g.vector("Gamma", cols), g.vector("Beta", cols)
	stats, y := g.result("Stats", 2*rows), g.out("Y", rows, cols, gap)
	n := device.Norm{X: x.mat(), Gamma: gamma.buf(), Beta: beta.buf(), Eps: 1e-5, Stats: stats.buf(), Y: y.mat()}
	var rest *array
	if residual {
		rest = g.in("Residual", rows, cols, 0)
		n.Residual = rest.mat()
		x.role = sum
	}
	g.do(func() { g.dev.Norm(n) })

	// The reference starts from the sum as float32 rounds it.
	total := func(r, c int) float64 {
		if residual {
			return float64(float32(x.at(r, c)) + float32(rest.at(r, c)))
		}
		return x.at(r, c)
	}
	p := g.reference()
	tx, tg, tb := matrix(rows, cols), p.leaves(gamma), p.leaves(beta)
	ty := make([][]num, rows)
	moments := make([][2]num, rows)
	for r := range rows {
		for c := range cols {
			tx[r][c] = p.leaf(total(r, c))
		}
		ty[r], moments[r] = p.layerNorm(tx[r], tg[0], tb[0], 1e-5)
	}
	tol := 1e-5 + 2e-7*shift
	y.want(g, tol, p.values(ty))
	if cols > 0 {
		stats.want(g, tol, func(_, i int) float64 { return p.val(moments[i%max(1, rows)][i/max(1, rows)]) })
	}
	if residual {
		x.want(g, 1e-7, total)
	}

	// The gradient reads what the forward call left.
	x.keep()
	stats.keep()
	y.role = input
	n.Residual = device.Mat{}
	dy, dx := g.in("DY", rows, cols, gap), g.out("DX", rows, cols, gap)
	if cols == 1 {
		dx.scale = 1 / math.Sqrt(1e-5) // the gradient is 0: a difference of two numbers, scaled
	}
	dgamma, dbeta := g.total("DGamma", cols), g.total("DBeta", cols)
	ng := device.NormGrad{Norm: n, DY: dy.mat(), DX: dx.mat(), DGamma: dgamma.buf(), DBeta: dbeta.buf()}
	g.do(func() { g.dev.NormGrad(ng) })
	p.backward(ty, dy)
	dx.want(g, 2*tol, p.grads(tx))
	dgamma.wantAdded(g, 2*tol, p.grads(tg))
	dbeta.wantAdded(g, 2*tol, p.grads(tb))
}

func (p *tape) layerNorm(x, gamma, beta []num, eps float64) (y []num, moments [2]num) {
	if len(x) == 0 {
		return nil, moments
	}
	mean := p.scale(p.sum(x), 1/float64(len(x)))
	squares := make([]num, len(x))
	for i, v := range x {
		d := p.sub(v, mean)
		squares[i] = p.mul(d, d)
	}
	v := p.scale(p.sum(squares), 1/float64(len(x)))
	s := 1 / math.Sqrt(p.val(v)+eps)
	scale := p.apply(v, s, -s/(2*(p.val(v)+eps)))
	y = make([]num, len(x))
	for i, v := range x {
		y[i] = p.add(p.mul(p.mul(p.sub(v, mean), scale), gamma[i]), beta[i])
	}
	return y, [2]num{mean, scale}
}

// normConstant: a row of equal numbers gives exactly Beta.
func normConstant(g *rig) {
	x := g.in("X", 3, 37, 0).fill(func(float64) float64 { return 0.25 })
	gamma, beta := g.vector("Gamma", 37), g.vector("Beta", 37)
	stats, y := g.result("Stats", 6), g.out("Y", 3, 37, 5)
	n := device.Norm{X: x.mat(), Gamma: gamma.buf(), Beta: beta.buf(), Eps: 1e-5, Stats: stats.buf(), Y: y.mat()}
	g.do(func() { g.dev.Norm(n) })
	y.want(g, 1e-6, func(_, c int) float64 { return beta.at(0, c) })
}
