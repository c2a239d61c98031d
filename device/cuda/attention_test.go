//go:build linux && !nogpu

package cuda

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
)

// TestAttentionProducts needs no GPU: it takes the products that cuBLAS would be asked for on the CPU, whose own
// attention says what they should come to.
func TestAttentionProducts(t *testing.T) {
	const B, H, Q, K, D, gap = 3, 2, 9, 11, 8, 5
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	wave := func(rows int) device.Mat {
		x := make([]float32, rows*(H*D+gap))
		for i := range x {
			x[i] = float32(math.Sin(float64(i*i + rows)))
		}
		return device.Mat{Buf: device.Buffer{Host: x, Len: len(x)}, Rows: rows, Cols: H * D, Stride: H*D + gap}
	}
	weights := func() device.Buffer { return dev.Alloc(B * H * Q * K) }
	a := device.Attention{
		Batch: B, Heads: H, Queries: Q, Keys: K, HeadDim: D, Q: wave(B * Q), K: wave(B * K), V: wave(B * K),
		Scale: 0.5, Weights: weights(), Y: wave(B * Q),
	}
	dev.Attention(a)
	g := device.AttentionGrad{Attention: a, DY: wave(B * Q), DQ: wave(B * Q), DK: wave(B * K), DV: wave(B * K)}
	dev.AttentionGrad(g)
	if !byProducts(&a) {
		t.Fatal("these sizes are no products")
	}

	take := func(p headProduct) {
		if p.gemm.TransA && p.inner != p.a.Rows || !p.gemm.TransA && p.inner != p.a.Cols {
			t.Fatalf("%d terms of a product of %d×%d", p.inner, p.a.Rows, p.a.Cols)
		}
		dev.MatMul(p.c, p.a, p.b, p.gemm)
	}
	same := func(what string, got, want device.Mat) {
		t.Helper()
		for r := range want.Rows {
			for c := range want.Cols {
				x, y := got.Buf.Host[r*got.Stride+c], want.Buf.Host[r*want.Stride+c]
				if math.Abs(float64(x-y)) > 1e-5 {
					t.Fatalf("%s[%d,%d] is %v, want %v", what, r, c, x, y)
				}
			}
		}
	}
	w, dw, y, dq, dk, dv := weights(), weights(), wave(B*Q), wave(B*Q), wave(B*K), wave(B*K)
	rows := func(b device.Buffer) device.Mat { return b.Mat(B*H*Q, K) }
	for h := range H {
		take(scoresOf(h, w, a.Q, a.K, &a))
	}
	dev.Scale(rows(w), rows(w), a.Scale)
	dev.Softmax(rows(w), rows(w), device.Ints{}, 0)
	same("weights", rows(w), rows(a.Weights))
	for h := range H {
		take(mixOf(h, y, w, a.V, &a, false))
		take(mixOf(h, dv, w, g.DY, &a, true))
		take(scoresOf(h, dw, g.DY, a.V, &a))
	}
	same("y", y, a.Y)
	same("dv", dv, g.DV)
	dev.SoftmaxGrad(rows(dw), rows(w), rows(dw))
	dev.Scale(rows(dw), rows(dw), a.Scale)
	for h := range H {
		take(mixOf(h, dq, dw, a.K, &a, false))
		take(mixOf(h, dk, dw, a.Q, &a, true))
	}
	same("dq", dq, g.DQ)
	same("dk", dk, g.DK)
}
