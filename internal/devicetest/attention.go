package devicetest

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// attentionCases: batch, heads, queries, keys, width of a head.
var attentionCases = [][5]int{
	{0, 2, 3, 4, 5}, {2, 2, 0, 4, 5}, {1, 1, 1, 1, 1}, {3, 2, 1, 20, 34}, {2, 2, 7, 7, 9}, {3, 1, 33, 5, 8},
	{2, 3, 4, 33, 16}, {1, 1, 2, 256, 7}, {40, 2, 3, 3, 4}, {2, 2, 9, 13, 10}, {3, 1, 33, 17, 8},
}

// attentionModels are the sizes of published models, each with one way to mask (0: none) and one dropout rate.
var attentionModels = []struct {
	size [5]int
	fill float64
	rate float32
}{
	{[5]int{1, 2, 66, 66, 100}, 0, 0.1},            // patches of two sequences attend to each other
	{[5]int{3, 2, 64, 33, 100}, math.Inf(-1), 0.1}, // one sequence to another
	{[5]int{4, 2, 1, 20, 136}, -1e10, 0.1},         // a node to its neighbours
	{[5]int{1, 8, 20, 128, 39}, 0, 0},              // some of 128 walks to all of them
}

func testAttention(g *rig) {
	for i, m := range attentionModels {
		g.scope(fmt.Sprintf("model %d", i), func(g *rig) {
			attentionCase(g, m.size, gaps[i%len(gaps)], m.fill, m.rate)
		})
	}
	for i, size := range attentionCases {
		for _, fill := range []float64{0, -1e10, math.Inf(-1)} { // 0: no mask
			for _, rate := range []float32{0, 0.3} {
				name := fmt.Sprintf("B=%d H=%d Q=%d K=%d D=%d fill=%v drop=%v",
					size[0], size[1], size[2], size[3], size[4], fill, rate)
				g.scope(name, func(g *rig) {
					attentionCase(g, size, gaps[i%len(gaps)], fill, rate)
				})
			}
		}
	}
}

func attentionCase(g *rig, size [5]int, gap int, fill float64, rate float32) {
	B, H, Q, K, D := size[0], size[1], size[2], size[3], size[4]
	q, k, v := g.in("Q", B*Q, H*D, gap), g.in("K", B*K, H*D, gap), g.in("V", B*K, H*D, 0)
	weights, y := g.result("Weights", B*H*Q*K), g.out("Y", B*Q, H*D, gap)
	a := device.Attention{Batch: B, Heads: H, Queries: Q, Keys: K, HeadDim: D, Q: q.mat(), K: k.mat(), V: v.mat(),
		Scale: float32(1 / math.Sqrt(float64(D))), Fill: float32(fill), Weights: weights.buf(), Y: y.mat()}
	var mask []int32
	if fill != 0 {
		mask = g.mask(B, K)
		a.Mask = g.indices(mask)
	}
	kept := func(int) float64 { return 1 }
	if rate > 0 {
		a.Drop = device.Drop{Rate: rate, Key: g.indices([]int32{123456, -98765}), Stream: 3}
		kept = g.kept(a.Drop, B*H*Q*K)
	}
	g.do(func() { g.dev.Attention(a) })

	p := g.reference()
	tq, tk, tv := p.leaves(q), p.leaves(k), p.leaves(v)
	ty, tw := matrix(B*Q, H*D), make([]num, 0, B*H*Q*K)
	for b := range B {
		for h := range H {
			lo, hi := h*D, (h+1)*D
			values := columns(tv[b*K:(b+1)*K], lo, hi)
			for i := range Q {
				w := make([]num, K)
				for j := range w {
					if mask != nil && mask[b*K+j] == 0 {
						w[j] = p.leaf(fill)
						continue
					}
					w[j] = p.scale(p.dot(tq[b*Q+i][lo:hi], tk[b*K+j][lo:hi]), float64(a.Scale))
				}
				w = p.softmax(w)
				first := len(tw)
				tw = append(tw, w...)
				used := make([]num, K)
				for j := range w {
					used[j] = p.scale(w[j], kept(first+j))
				}
				for c := lo; c < hi; c++ {
					ty[b*Q+i][c] = p.dot(used, values[c-lo])
				}
			}
		}
	}
	weights.want(g, 1e-5, func(_, i int) float64 { return p.val(tw[i]) })
	y.want(g, 1e-5, p.values(ty))

	weights.keep()
	y.role = input
	dy, dq := g.in("DY", B*Q, H*D, gap), g.out("DQ", B*Q, H*D, gap)
	dk, dv := g.out("DK", B*K, H*D, 0), g.out("DV", B*K, H*D, gap)
	ag := device.AttentionGrad{Attention: a, DY: dy.mat(), DQ: dq.mat(), DK: dk.mat(), DV: dv.mat()}
	g.do(func() { g.dev.AttentionGrad(ag) })
	p.backward(ty, dy)
	dq.want(g, 2e-5, p.grads(tq))
	dk.want(g, 2e-5, p.grads(tk))
	dv.want(g, 2e-5, p.grads(tv))
}

// columns are the columns [lo, hi) of rows, each as a list.
func columns(rows [][]num, lo, hi int) [][]num {
	x := make([][]num, hi-lo)
	for c := range x {
		for r := range rows {
			x[c] = append(x[c], rows[r][lo+c])
		}
	}
	return x
}

// kept asks the device which of n numbers a dropout keeps, and by what they are multiplied.
func (g *rig) kept(d device.Drop, n int) func(i int) float64 {
	if n == 0 {
		return nil
	}
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	b := g.dev.Alloc(n)
	defer g.dev.Free(b)
	g.dev.Write(b, ones)
	g.dev.Dropout(b.Mat(1, n), b.Mat(1, n), d)
	g.dev.Read(ones, b)
	return func(i int) float64 { return float64(ones[i]) }
}
