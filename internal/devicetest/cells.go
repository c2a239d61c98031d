package devicetest

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
)

func testCells(g *rig) {
	for i, size := range [][2]int{{0, 7}, {7, 0}, {1, 1}, {7, 7}, {33, 33}, {2, 8}, {2, 616}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		g.scope("GRU "+name, func(g *rig) { gruCase(g, size[0], size[1], gaps[i%len(gaps)], 1) })
		for _, part := range []string{"both", "state", "carry"} { // which gradients come in
			g.scope("LSTM "+name+" "+part, func(g *rig) { lstmCase(g, size[0], size[1], gaps[i%len(gaps)], part) })
		}
	}
	// Saturated gates.
	g.scope("GRU wide", func(g *rig) { gruCase(g, 5, 11, 5, 30) })
}

func gruCase(g *rig, n, H, gap int, spread float64) {
	x, h := g.in("X", n, 3*H, gap).fill(func(v float64) float64 { return spread * v }), g.in("H", n, 3*H, 0)
	state, next := g.in("State", n, H, gap), g.out("NewState", n, H, gap)
	c := device.Cell{X: x.mat(), H: h.mat(), State: state.mat(), NewState: next.mat()}
	g.do(func() { g.dev.GRU(c) })

	p := g.reference()
	tx, th, ts := p.leaves(x), p.leaves(h), p.leaves(state)
	tn := matrix(n, H)
	for r := range tn {
		for i := range H {
			reset := p.sigmoid(p.add(tx[r][i], th[r][i]))
			z := p.sigmoid(p.add(tx[r][H+i], th[r][H+i]))
			c := p.tanh(p.add(tx[r][2*H+i], p.mul(reset, th[r][2*H+i])))
			tn[r][i] = p.add(p.sub(c, p.mul(z, c)), p.mul(z, ts[r][i]))
		}
	}
	next.want(g, 1e-5, p.values(tn))

	next.role = input
	dnext := g.in("DNewState", n, H, gap)
	dx, dh, dstate := g.out("DX", n, 3*H, gap), g.out("DH", n, 3*H, gap), g.out("DState", n, H, 0)
	cg := device.CellGrad{Cell: c, DNewState: dnext.mat(), DX: dx.mat(), DH: dh.mat(), DState: dstate.mat()}
	g.do(func() { g.dev.GRUGrad(cg) })
	p.backward(tn, dnext)
	dx.want(g, 2e-5, p.grads(tx))
	dh.want(g, 2e-5, p.grads(th))
	dstate.want(g, 2e-5, p.grads(ts))
}

func lstmCase(g *rig, n, H, gap int, part string) {
	x, h, carry := g.in("X", n, 4*H, gap), g.in("H", n, 4*H, 0), g.in("Carry", n, H, gap)
	next, nextCarry := g.out("NewState", n, H, gap), g.out("NewCarry", n, H, 0)
	c := device.Cell{X: x.mat(), H: h.mat(), Carry: carry.mat(), NewState: next.mat(), NewCarry: nextCarry.mat()}
	g.do(func() { g.dev.LSTM(c) })

	p := g.reference()
	tx, th, tc := p.leaves(x), p.leaves(h), p.leaves(carry)
	tn, tnc := matrix(n, H), matrix(n, H)
	for r := range tn {
		for i := range H {
			in := p.sigmoid(p.add(tx[r][i], th[r][i]))
			keep := p.sigmoid(p.add(tx[r][H+i], th[r][H+i]))
			cand := p.tanh(p.add(tx[r][2*H+i], th[r][2*H+i]))
			out := p.sigmoid(p.add(tx[r][3*H+i], th[r][3*H+i]))
			tnc[r][i] = p.add(p.mul(keep, tc[r][i]), p.mul(in, cand))
			tn[r][i] = p.mul(out, p.tanh(tnc[r][i]))
		}
	}
	next.want(g, 1e-5, p.values(tn))
	nextCarry.want(g, 1e-5, p.values(tnc))

	nextCarry.keep()
	next.role = input
	dx, dh, dcarry := g.out("DX", n, 4*H, gap), g.out("DH", n, 4*H, gap), g.out("DCarry", n, H, 0)
	cg := device.CellGrad{Cell: c, DX: dx.mat(), DH: dh.mat(), DCarry: dcarry.mat()}
	seeds := [2]*array{}
	if part != "carry" {
		seeds[0] = g.in("DNewState", n, H, gap)
		cg.DNewState = seeds[0].mat()
	}
	if part != "state" {
		seeds[1] = g.in("DNewCarry", n, H, gap)
		cg.DNewCarry = seeds[1].mat()
	}
	g.do(func() { g.dev.LSTMGrad(cg) })
	outs, joined := make([][]num, 0, 2*n), &array{cols: H, stride: H}
	for k, seed := range seeds {
		if seed != nil {
			outs = append(outs, [2][][]num{tn, tnc}[k]...)
			for r := range n {
				joined.init = append(joined.init, seed.init[seed.place(r, 0):seed.place(r, H)]...)
			}
		}
	}
	p.backward(outs, joined)
	dx.want(g, 2e-5, p.grads(tx))
	dh.want(g, 2e-5, p.grads(th))
	dcarry.want(g, 2e-5, p.grads(tc))
}
