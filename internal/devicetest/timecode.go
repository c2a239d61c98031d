package devicetest

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/device"
)

func testTimeCode(g *rig) {
	for i, size := range [][2]int{{0, 7}, {7, 0}, {1, 1}, {7, 7}, {33, 33}, {3, 8}, {600, 100}} {
		for _, masked := range []bool{false, true} {
			g.scope(fmt.Sprintf("%dx%d masked=%v", size[0], size[1], masked), func(g *rig) {
				timeCase(g, size[0], size[1], masked, gaps[i%len(gaps)])
			})
		}
	}
}

// timeCase uses the frequencies and the range of intervals of the model: from 1 down to 1e-9, and up to 1e10.
func timeCase(g *rig, rows, cols int, masked bool, gap int) {
	w, bias := g.vector("W", cols), g.vector("Bias", cols)
	for c := range cols {
		w.init[w.place(0, c)] = float32(math.Pow(10, -9*float64(c)/float64(max(1, cols-1))))
	}
	delta := g.vector("Delta", rows)
	for r := range rows {
		delta.init[delta.place(0, r)] = []float32{0, 1e10, 12.5, 86400, 3.1e7, 7654321, 0.25}[r%7] * float32(1+r/7)
	}
	y := g.out("Y", rows, cols, gap)
	t := device.TimeCode{Delta: delta.buf(), W: w.buf(), Bias: bias.buf(), Y: y.mat()}
	mask := make([]int32, rows)
	for r := range mask {
		mask[r] = int32(r % 3 % 2)
		if !masked {
			mask[r] = 1
		}
	}
	if masked {
		t.Mask = g.indices(mask)
	}
	phase := func(r, c int) float64 {
		product := float32(w.init[w.place(0, c)] * delta.init[delta.place(0, r)])
		return float64(product + bias.init[bias.place(0, c)])
	}
	g.do(func() { g.dev.TimeCode(t) })
	y.want(g, 3e-7, func(r, c int) float64 { return float64(mask[r]) * math.Cos(phase(r, c)) })

	dy := g.in("DY", rows, cols, gap)
	dw, dbias := g.total("DW", cols), g.total("DBias", cols)
	y.role = input
	tg := device.TimeCodeGrad{TimeCode: t, DY: dy.mat(), DW: dw.buf(), DBias: dbias.buf()}
	g.do(func() { g.dev.TimeCodeGrad(tg) })
	if !g.plain() {
		return
	}
	slope := func(r, c int) float64 { return -float64(mask[r]) * math.Sin(phase(r, c)) * dy.at(r, c) }
	dw.wantAdded(g, 1e-6, func(_, c int) (s float64) {
		for r := range rows {
			s += slope(r, c) * delta.at(0, r)
		}
		return s
	})
	dbias.wantAdded(g, 1e-6, func(_, c int) (s float64) {
		for r := range rows {
			s += slope(r, c)
		}
		return s
	})
}
