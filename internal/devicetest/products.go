package devicetest

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

func testDecayedProducts(g *rig) {
	// Queries, rows of a query on either side, vectors' width, rows of the table, scales.
	g.sizes("n, each, dim, table, scales = [%d %d %d %d %d]", [][]int{
		{0, 3, 8, 2, 3}, {1, 1, 1, 1, 1}, {3, 2, 7, 5, 3}, {5, 0, 16, 4, 3}, {20, 9, 128, 30, 3},
		{7, 33, 50, 12, 2}, {2, 5, 33, 3, 3},
	}, decayedProductsCase)
}

func decayedProductsCase(g *rig, size []int, gap int) {
	n, each, dim, entries, scales := size[0], size[1], size[2], size[3], size[4]
	const four = device.DecayLevels + 1
	table := g.in("table", entries, (1+scales*device.DecayLevels)*dim, gap)
	m := 2 * n * each // sources' rows, then destinations'
	src, dst, of := make([]int32, n), make([]int32, n), make([]int32, m)
	for i := range n {
		src[i], dst[i] = int32(g.rng.IntN(entries)), int32(g.rng.IntN(entries))
	}
	for i := range of {
		of[i] = int32(g.rng.IntN(entries+1)) - 1 // −1: padding
	}
	w := device.DecayedProducts{Dim: dim, Table: table.mat(), Src: g.indices(src), Dst: g.indices(dst)}
	w.Of, w.Each = g.indices(of), each
	ages := [3]*array{g.vector("ages of sources", n), g.vector("ages of destinations", n), g.vector("ages of rows", m)}
	rates := g.vector("rates", scales)
	for _, a := range append(ages[:], rates) {
		a.fill(math.Abs)
	}
	w.SrcAge, w.DstAge, w.Age, w.Rates = ages[0].buf(), ages[1].buf(), ages[2].buf(), rates.buf()
	vector := func(row int32, age float64, s, level int) (h []float64) {
		decay, at := math.Exp(-rates.at(0, s)*float64(level)*age), 0
		if level > 0 {
			at = (s*device.DecayLevels + level) * dim
		}
		for c := range dim {
			h = append(h, decay*table.at(int(row), at+c))
		}
		return h
	}
	// node is one of the 8 vectors of a query at a scale.
	node := func(q, s, k int) []float64 {
		if k < four {
			return vector(src[q], ages[0].at(0, q), s, k)
		}
		return vector(dst[q], ages[1].at(0, q), s, k-four)
	}
	product := func(x, y []float64) float64 {
		sum := 0.0
		for c := range x {
			sum += x[c] * y[c]
		}
		return math.Log1p(max(0, sum))
	}
	y := g.out("y", m, scales*four*2*four, gap)
	w.Y = y.mat()
	g.do(func() { g.dev.DecayedProducts(w) })
	y.want(g, 2e-5, func(r, c int) float64 {
		s, a, b := c/(8*four), c/8%four, c%8
		if of[r] < 0 {
			return 0
		}
		return product(vector(of[r], ages[2].at(0, r), s, a), node(r/each%n, s, b))
	})
	y.role = input
	w.Of, w.Age, w.Pairs = device.Ints{}, device.Buffer{}, true
	pairs := g.out("pairs", n, scales*36, gap)
	w.Y = pairs.mat()
	g.do(func() { g.dev.DecayedProducts(w) })
	pairs.want(g, 2e-5, func(q, c int) float64 {
		s, k := c/36, c%36
		for a := range 8 {
			if k < 8-a {
				return product(node(q, s, a), node(q, s, a+k))
			}
			k -= 8 - a
		}
		return math.NaN()
	})
}
