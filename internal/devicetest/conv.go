package devicetest

import "github.com/dygmamba/dygmamba/device"

// convCases: B sequences of L steps, D channels, kernel K.
var convCases = [][]int{
	{0, 7, 7, 4}, {2, 0, 7, 4}, {2, 7, 0, 4}, {1, 1, 1, 1}, {2, 7, 7, 4}, {2, 33, 33, 4}, {3, 2, 25, 4}, {2, 5, 9, 3},
	{1, 3, 100, 4}, {70, 2, 8, 4}, {2, 4, 17, 7},
}

func testConv(g *rig) {
	g.sizes("B=%d L=%d D=%d K=%d", convCases, convCase)
}

func convCase(g *rig, size []int, gap int) {
	B, L, D, K := size[0], size[1], size[2], size[3]
	x, w, bias := g.in("X", B*L, D, gap), g.vector("W", D*K), g.vector("Bias", D)
	y := g.out("Y", B*L, D, gap)
	c := device.Conv{Batch: B, Len: L, Width: D, Kernel: K, X: x.mat(), W: w.buf(), Bias: bias.buf(), Y: y.mat()}
	g.do(func() { g.dev.Conv(c) })

	p := g.reference()
	tx, tw, tb := p.leaves(x), p.leaves(w), p.leaves(bias)
	ty := matrix(B*L, D)
	for r := range ty {
		for i := range D {
			s := tb[0][i]
			for j := range K {
				if t := r%L - (K - 1) + j; t >= 0 {
					s = p.add(s, p.mul(tw[0][i*K+j], tx[r-(K-1)+j][i]))
				}
			}
			ty[r][i] = p.silu(s)
		}
	}
	y.want(g, 1e-5, p.values(ty))

	dy := g.in("DY", B*L, D, gap)
	dx := g.out("DX", B*L, D, gap)
	dw, dbias := g.total("DW", D*K), g.total("DBias", D)
	y.role = input
	cg := device.ConvGrad{Conv: c, DY: dy.mat(), DX: dx.mat(), DW: dw.buf(), DBias: dbias.buf()}
	g.do(func() { g.dev.ConvGrad(cg) })
	p.backward(ty, dy)
	dx.want(g, 2e-5, p.grads(tx))
	dw.wantAdded(g, 2e-5, p.grads(tw))
	dbias.wantAdded(g, 2e-5, p.grads(tb))
}
