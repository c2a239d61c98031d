package devicetest

func testWeighted(g *rig) {
	// B sequences of P rows, D wide.
	list := [][]int{{0, 7, 7}, {2, 0, 7}, {2, 7, 0}, {1, 1, 1}, {2, 7, 7}, {3, 33, 33}, {2, 33, 100},
		{100, 3, 25}, {2, 1, 8}}
	g.sizes("B=%d P=%d D=%d", list, weightedCase)
}

func weightedCase(g *rig, size []int, gap int) {
	B, P, D := size[0], size[1], size[2]
	w, a, h := g.in("w", B, P, gap), g.in("a", B, D, gap), g.in("h", B*P, D, gap)
	y, dots, outer := g.out("Pool", B, D, 0), g.out("Dot", B, P, gap), g.out("Outer", B*P, D, 0)
	added := g.matrix("Outer added", sum, B*P, D, gap)
	g.do(func() {
		g.dev.Pool(y.mat(), w.mat(), h.mat())
		g.dev.Dot(dots.mat(), a.mat(), h.mat())
		g.dev.Outer(outer.mat(), w.mat(), a.mat(), false)
		g.dev.Outer(added.mat(), w.mat(), a.mat(), true)
	})
	y.want(g, 1e-5, func(b, c int) (s float64) {
		for j := range P {
			s += w.at(b, j) * h.at(b*P+j, c)
		}
		return s
	})
	dots.want(g, 1e-5, func(b, j int) (s float64) {
		for c := range D {
			s += a.at(b, c) * h.at(b*P+j, c)
		}
		return s
	})
	product := func(r, c int) float64 { return w.at(r/P, r%P) * a.at(r/P, c) }
	outer.want(g, 1e-6, product)
	added.wantAdded(g, 1e-6, product)
}
