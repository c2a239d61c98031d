package devicetest

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// Every device keeps the same numbers: number i of a dropout takes word (i>>3)&3 of Philox4x32 with 7 rounds for the
// counter (n, n>>32, Stream, 0) with n = (i>>5)<<3 | i&7, and is kept where the word is at least Rate·2³².
func testDropout(g *rig) {
	eachSize(g, "rate=0.1", func(g *rig, rows, cols, gap int) { dropoutCase(g, 0.1, rows, cols, gap) })
	g.scope("rate=0.5", func(g *rig) { dropoutCase(g, 0.5, 40, 100, 0) })
	g.scope("rate=0", func(g *rig) { dropoutCase(g, 0, 7, 33, 5) })
}

func dropoutCase(g *rig, rate float32, rows, cols, gap int) {
	x, y := g.in("X", rows, cols, gap), g.out("Y", rows, cols, gap)
	key := [2]uint32{0x12345678, 0xfedcba98}
	d := device.Drop{Rate: rate, Key: g.indices([]int32{int32(key[0]), int32(key[1])}), Stream: 7}
	g.do(func() { g.dev.Dropout(y.mat(), x.mat(), d) })
	if !g.plain() {
		return
	}
	least := uint32(float64(rate) * (1 << 32))
	keeps := func(r, c int) bool {
		i := uint64(r*cols + c)
		n := i>>5<<3 | i&7
		return philox([4]uint32{uint32(n), uint32(n >> 32), d.Stream, 0}, key)[i>>3&3] >= least
	}
	y.want(g, 1e-7, func(r, c int) float64 {
		if !keeps(r, c) {
			return 0
		}
		return x.at(r, c) / (1 - float64(rate))
	})
	kept := 0
	for i := range rows * cols {
		if keeps(i/cols, i%cols) {
			kept++
		}
	}
	want := float64(rows*cols) * float64(1-rate)
	if rows*cols >= 4000 && math.Abs(float64(kept)-want) > 4*math.Sqrt(want) {
		g.Errorf("kept %d of %d numbers, want about %.0f", kept, rows*cols, want)
	}
}

func philox(c [4]uint32, key [2]uint32) [4]uint32 {
	for range 7 {
		p, q := uint64(c[0])*0xD2511F53, uint64(c[2])*0xCD9E8D57
		c = [4]uint32{uint32(q>>32) ^ c[1] ^ key[0], uint32(q), uint32(p>>32) ^ c[3] ^ key[1], uint32(p)}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return c
}

// testDropoutKeys: another key, stream or rate keeps other numbers.
func testDropoutKeys(g *rig) {
	g.scope("differ", func(g *rig) {
		x := g.in("X", 20, 100, 0).fill(func(float64) float64 { return 1 })
		var outs []*array
		var drops []device.Drop
		for i, k := range [][3]int32{{1, 2, 3}, {2, 2, 3}, {1, 3, 3}, {1, 2, 4}} {
			outs = append(outs, g.out(fmt.Sprintf("Y%d", i), 20, 100, 0))
			drops = append(drops, device.Drop{Rate: 0.5, Key: g.indices(k[:2]), Stream: uint32(k[2])})
		}
		g.do(func() {
			for i, y := range outs {
				g.dev.Dropout(y.mat(), x.mat(), drops[i])
			}
		})
		for i, y := range outs[1:] {
			same := 0
			for j, v := range y.now {
				if v == outs[0].now[j] {
					same++
				}
			}
			if same > 1100 || same < 900 {
				g.Errorf("dropout %d agrees with dropout 0 on %d of 2000 numbers, want about 1000", i+1, same)
			}
		}
	})
}

// testDropsInside: a product and a gradient of an activation drop what a dropout by itself drops.
func testDropsInside(g *rig) {
	g.sizes("%dx%d", [][]int{{64, 32}, {33, 20}, {17, 13}, {300, 100}, {1, 4}}, func(g *rig, n []int, gap int) {
		rows, cols := n[0], n[1]
		x, w, bias := g.in("X", rows, 8, gap), g.in("W", cols, 8, 0), g.vector("Bias", cols)
		y, pre, dy := g.out("Y", rows, cols, gap), g.out("Pre", rows, cols, gap), g.in("DY", rows, cols, gap)
		dx := g.out("DX", rows, cols, gap)
		product, gradient := g.out("Product", rows, cols, gap), g.out("Gradient", rows, cols, gap)
		d := device.Drop{Rate: 0.3, Key: g.indices([]int32{-5, 77}), Stream: 2}
		g.do(func() {
			m := device.Gemm{TransB: true, Bias: bias.buf(), Act: device.GELU, Pre: pre.mat()}
			g.dev.MatMul(y.mat(), x.mat(), w.mat(), m)
			g.dev.Dropout(y.mat(), y.mat(), d)
			g.dev.Dropout(dx.mat(), dy.mat(), d)
			g.dev.MapGrad(device.GELU, dx.mat(), pre.mat(), device.Mat{}, dx.mat(), device.Drop{})

			m.Drop = d
			g.dev.MatMul(product.mat(), x.mat(), w.mat(), m)
			g.dev.MapGrad(device.GELU, gradient.mat(), pre.mat(), device.Mat{}, dy.mat(), d)
		})
		for r := range rows {
			for c := range cols {
				if p := product.now[product.place(r, c)]; p != y.now[y.place(r, c)] {
					g.Fatalf("product %d, %d: %v, apart %v", r, c, p, y.now[y.place(r, c)])
				}
				if p := gradient.now[gradient.place(r, c)]; p != dx.now[dx.place(r, c)] {
					g.Fatalf("gradient %d, %d: %v, apart %v", r, c, p, dx.now[dx.place(r, c)])
				}
			}
		}
	})
}
