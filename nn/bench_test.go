package nn_test

import (
	"fmt"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/trace"
	"github.com/dygmamba/dygmamba/nn"
)

// BenchmarkLayer is forward and backward of one node-level layer of DyGMamba, 200 positive and 200 negative pairs of 33
// patches: Mamba, norm with residual, feed-forward with residual.
func BenchmarkLayer(b *testing.B) {
	for _, rate := range []float32{0, 0.1} {
		b.Run(fmt.Sprintf("dropout=%v", rate), func(b *testing.B) {
			dev := trace.New(cpu.New(cpu.Options{}))
			defer dev.Close()
			p := nn.NewParams(1)
			s := p.In("0")
			mamba := nn.NewMamba(s.In("mamba"), 100, 16, 4)
			norm := nn.NewLayerNorm(s.In("norm"), 100)
			ffn := nn.NewFeedForward(s.In("ffn"), "0", "3", 100, 400, 100, device.GELU, rate)
			p.Place(dev)
			tp := grad.NewTape(dev, true)
			host := make([]float32, 800*33*100)
			for i := range host {
				host[i] = float32(i%97) / 97
			}
			step := func() {
				tp.Reset(1)
				p.ZeroGrad()
				x := tp.Floats(host, 800, 33, 100)
				x.Tracked = true
				h := norm.Add(tp, mamba.Forward(tp, x), x)
				h = grad.Add(tp, h, ffn.Forward(tp, h))
				tp.Backward(grad.Sum(tp, h))
			}
			step()
			step()
			dev.Reset()
			flops := int64(0)
			for b.Loop() {
				step()
			}
			for _, m := range dev.Products() {
				flops += m.Flops()
			}
			b.ReportMetric(float64(flops)/1e9/float64(b.N), "GFLOP/op")
			b.ReportMetric(float64(tp.Bytes())/(1<<20), "MiB")
			for _, k := range dev.Kernels() {
				b.ReportMetric(k.Time/float64(b.N), k.Name+"-ms/op")
			}
		})
	}
}
