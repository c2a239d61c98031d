package devicetest

import (
	"fmt"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/device"
)

func testSoftmax(g *rig) {
	for i, size := range [][2]int{{0, 7}, {7, 0}, {1, 1}, {7, 7}, {33, 33}, {5, 8}, {3, 265}, {900, 20}, {70, 66}} {
		for _, fill := range []float64{0, -1e10, math.Inf(-1)} { // 0: no mask
			g.scope(fmt.Sprintf("%dx%d fill=%v", size[0], size[1], fill), func(g *rig) {
				softmaxCase(g, size[0], size[1], gaps[i%len(gaps)], fill)
			})
		}
	}
}

func softmaxCase(g *rig, rows, cols, gap int, fill float64) {
	x := g.in("X", rows, cols, gap).fill(func(v float64) float64 { return 4 * v })
	y := g.out("Y", rows, cols, gap)
	var mask []int32
	var ints device.Ints
	if fill != 0 {
		mask = g.mask(rows, cols)
		ints = g.indices(mask)
	}
	g.do(func() { g.dev.Softmax(y.mat(), x.mat(), ints, float32(fill)) })

	p := g.reference()
	tx, ty := p.leaves(x), make([][]num, rows)
	for r := range ty {
		seen := slices.Clone(tx[r])
		for c := range seen {
			if mask != nil && mask[r*cols+c] == 0 {
				seen[c] = p.leaf(fill)
			}
		}
		ty[r] = p.softmax(seen)
	}
	y.want(g, 1e-5, p.values(ty))

	y.keep()
	dy, dx := g.in("DY", rows, cols, gap), g.out("DX", rows, cols, 0)
	g.do(func() { g.dev.SoftmaxGrad(dx.mat(), y.mat(), dy.mat()) })
	if mask == nil {
		p.backward(ty, dy)
		dx.want(g, 2e-5, p.grads(tx))
	}
}

// mask is random; the first row sees nothing, the second everything.
func (g *rig) mask(rows, cols int) []int32 {
	m := make([]int32, rows*cols)
	for i := range m {
		switch i / max(1, cols) {
		case 0:
		case 1:
			m[i] = 1
		default:
			m[i] = int32(g.rng.IntN(3)) // 2 is as good as 1
		}
	}
	return m
}
