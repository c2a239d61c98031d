package devicetest

import "fmt"

func testRowSum(g *rig) {
	for i, size := range [][2]int{{0, 7}, {7, 0}, {1, 1}, {7, 7}, {33, 33}, {3, 1000}, {400, 50}} {
		g.scope(fmt.Sprintf("%dx%d", size[0], size[1]), func(g *rig) {
			x, y := g.in("X", size[0], size[1], gaps[i%len(gaps)]), g.result("y", size[0])
			g.do(func() { g.dev.RowSum(y.buf(), x.mat()) })
			if g.plain() {
				y.want(g, 1e-5, func(_, r int) (s float64) {
					for c := range size[1] {
						s += x.at(r, c)
					}
					return s
				})
			}
		})
	}
}
