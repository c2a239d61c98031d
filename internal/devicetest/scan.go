package devicetest

import (
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/device"
)

// scanCases: B sequences of L steps, D channels, N states.
var scanCases = [][4]int{
	{0, 7, 7, 3}, {2, 0, 7, 16}, {2, 7, 0, 16}, {1, 1, 1, 1}, {2, 7, 7, 3}, {3, 5, 25, 16}, {2, 33, 33, 16},
	{2, 3, 8, 16}, {1, 4, 9, 7}, {70, 2, 17, 16}, {1, 2, 5, 33}, {2, 4, 100, 16},
}

func testScan(g *rig) {
	for i, size := range scanCases {
		for _, exact := range []bool{false, true} {
			gate, skip := i%3 != 0, i%4 != 1
			name := fmt.Sprintf("B=%d L=%d D=%d N=%d exact=%v gate=%v skip=%v",
				size[0], size[1], size[2], size[3], exact, gate, skip)
			g.scope(name, func(g *rig) {
				scanCase(g, size, gaps[i%len(gaps)], 1, exact, gate, skip)
			})
		}
	}
	// steps so short that eˣ−1 cancels, and so long that decays vanish
	for _, pace := range []float64{1e-6, 1e-3, 300} {
		for _, exact := range []bool{false, true} {
			g.scope(fmt.Sprintf("pace=%v exact=%v", pace, exact), func(g *rig) {
				scanCase(g, [4]int{2, 6, 11, 16}, 5, pace, exact, true, true)
			})
		}
	}
	g.scope("alone", scanAlone)
}

func scanCase(g *rig, size [4]int, gap int, pace float64, exact, gate, skip bool) {
	s, a := newScan(g, size, gap, pace, exact, gate, skip)
	g.do(func() { g.dev.Scan(s) })
	p := a.reference(g.reference(), exact, gate, skip)
	a.y.want(g, 1e-5, p.values(a.outs))

	B, L, D, N := size[0], size[1], size[2], size[3]
	dy := g.in("DY", B*L, D, gap)
	du, ddelta := g.out("DU", B*L, D, gap), g.out("DDelta", B*L, D, 0)
	db, dc := g.out("DB", B*L, N, gap), g.out("DC", B*L, N, gap)
	dalog := g.total("DALog", D*N)
	sg := device.ScanGrad{Scan: s, DY: dy.mat(), DU: du.mat(), DDelta: ddelta.mat(), DB: db.mat(), DC: dc.mat(),
		DALog: dalog.buf()}
	var dgate, dskip *array
	if gate {
		dgate = g.out("DGate", B*L, D, gap)
		sg.DGate = dgate.mat()
	}
	if skip {
		dskip = g.total("DSkip", D)
		sg.DSkip = dskip.buf()
	}
	a.y.role = input
	g.do(func() { g.dev.ScanGrad(sg) })
	p.backward(a.outs, dy)
	du.want(g, 2e-5, p.grads(a.u))
	ddelta.want(g, 2e-5, p.grads(a.delta))
	db.want(g, 2e-5, p.grads(a.b))
	dc.want(g, 2e-5, p.grads(a.c))
	dalog.wantAdded(g, 2e-5, p.grads(a.alog))
	if gate {
		dgate.want(g, 2e-5, p.grads(a.gate))
	}
	if skip {
		dskip.wantAdded(g, 2e-5, p.grads(a.skip))
	}
}

// scanArrays are a scan's arguments, and the same on a tape.
type scanArrays struct {
	size                                   [4]int
	inU, inDelta, inB, inC, inGate         *array
	inALog, inSkip, y                      *array
	u, delta, b, c, gate, alog, skip, outs [][]num
}

func newScan(g *rig, size [4]int, gap int, pace float64, exact, gate, skip bool) (device.Scan, *scanArrays) {
	B, L, D, N := size[0], size[1], size[2], size[3]
	a := &scanArrays{size: size}
	a.inU = g.in("U", B*L, D, gap)
	a.inDelta = g.in("Delta", B*L, D, 0).fill(func(v float64) float64 { return pace * 0.2 * math.Log1p(math.Exp(v)) })
	a.inB, a.inC = g.in("B", B*L, N, gap), g.in("C", B*L, N, gap)
	a.inALog = g.vector("ALog", D*N).fill(func(v float64) float64 { return v + 1 })
	a.y = g.out("Y", B*L, D, gap)
	s := device.Scan{Batch: B, Len: L, Width: D, State: N, U: a.inU.mat(), Delta: a.inDelta.mat(), ALog: a.inALog.buf(),
		B: a.inB.mat(), C: a.inC.mat(), Exact: exact, Y: a.y.mat()}
	if gate {
		a.inGate = g.in("Gate", B*L, D, gap)
		s.Gate = a.inGate.mat()
	}
	if skip {
		a.inSkip = g.vector("Skip", D)
		s.Skip = a.inSkip.buf()
	}
	return s, a
}

func (a *scanArrays) reference(p *tape, exact, gate, skip bool) *tape {
	B, L, D, N := a.size[0], a.size[1], a.size[2], a.size[3]
	a.u, a.delta, a.b, a.c, a.alog = p.leaves(a.inU), p.leaves(a.inDelta), p.leaves(a.inB), p.leaves(a.inC),
		p.leaves(a.inALog)
	if gate {
		a.gate = p.leaves(a.inGate)
	}
	if skip {
		a.skip = p.leaves(a.inSkip)
	}
	a.outs = matrix(B*L, D)
	for b := range B {
		h := make([]num, D*N)
		for i := range h {
			h[i] = p.leaf(0)
		}
		for r := b * L; r < (b+1)*L; r++ {
			for c := range D {
				y := p.leaf(0)
				for i := range N {
					rate := p.scale(p.exp(a.alog[0][c*N+i]), -1)
					x := p.mul(a.delta[r][c], rate)
					step := a.delta[r][c]
					if exact {
						step = p.div(p.expm1(x), rate)
					}
					in := p.mul(p.mul(step, a.b[r][i]), a.u[r][c])
					h[c*N+i] = p.add(p.mul(p.exp(x), h[c*N+i]), in)
					y = p.add(y, p.mul(a.c[r][i], h[c*N+i]))
				}
				if skip {
					y = p.add(y, p.mul(a.skip[0][c], a.u[r][c]))
				}
				if gate {
					y = p.mul(y, p.silu(a.gate[r][c]))
				}
				a.outs[r][c] = y
			}
		}
	}
	return p
}

// scanAlone: a sequence gives the same bits alone as among others.
func scanAlone(g *rig) {
	s, a := newScan(g, [4]int{5, 6, 27, 16}, 5, 1, false, true, true)
	g.do(func() { g.dev.Scan(s) })
	among := slices.Clone(a.y.now)
	one := s
	one.Batch = 1
	for _, m := range []*device.Mat{&one.U, &one.Delta, &one.B, &one.C, &one.Gate, &one.Y} {
		*m = m.Band(3*s.Len, 4*s.Len)
	}
	g.do(func() { g.dev.Scan(one) })
	for r := 3 * s.Len; r < 4*s.Len; r++ {
		for c := range s.Width {
			if i := a.y.place(r, c); a.y.now[i] != among[i] {
				g.Fatalf("step %d channel %d is %v alone and %v among others", r-3*s.Len, c, a.y.now[i], among[i])
			}
		}
	}
}
