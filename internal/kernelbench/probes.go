package kernelbench

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dygmamba/dygmamba/device"
)

// cols is the width of the rows of the pointwise kernels: that of the model.
const cols = 100

// shapes are (K, N) of the products that take most of a step's time: the feed-forward block's two, and a projection.
var shapes = [][2]int{{100, 400}, {400, 100}, {200, 100}}

func probes(dev device.Device, o Options) []*probe {
	all := []*probe{peakProbe(dev)}
	all = append(all, pointwiseProbes(dev, o)...)
	for _, s := range shapes {
		all = append(all, productProbes(dev, o.Rows, s[0], s[1])...)
	}
	return append(all, scanProbes(dev, o.Batch)...)
}

// peaker is a device that can measure how fast its arithmetic is with no memory in the way.
type peaker interface {
	Peak() float64 // operations a second; 0: unknown
}

func peakProbe(dev device.Device) *probe {
	p := &probe{Kernel: Kernel{Name: Peak, Unit: "GFLOP/s"}, peak: func() float64 { return 0 }}
	if d, ok := dev.(peaker); ok {
		p.peak = d.Peak
	}
	return p
}

// random is n numbers from a normal distribution, the same each time.
func random(dev device.Device, n int, value func(x float64) float64) device.Buffer {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	host := make([]float32, n)
	for i := range host {
		host[i] = float32(value(rng.NormFloat64()))
	}
	b := dev.Alloc(n)
	dev.Write(b, host)
	return b
}

func same(x float64) float64 { return x }

// productProbes are the three products of a linear layer: its output, the gradient of its input and that of its weight.
func productProbes(dev device.Device, m, k, n int) []*probe {
	x, w := random(dev, m*k, same).Mat(m, k), random(dev, n*k, same).Mat(n, k)
	dy := random(dev, m*n, same).Mat(m, n)
	y, dx, dw := dev.Alloc(m*n).Mat(m, n), dev.Alloc(m*k).Mat(m, k), dev.Alloc(n*k).Mat(n, k)
	line := func(name string, call func()) *probe {
		size := fmt.Sprintf("M=%d K=%d N=%d", m, k, n)
		return &probe{Kernel: Kernel{Name: name, Size: size, Unit: "GFLOP/s", Of: Peak},
			work: 2e-9 * float64(m) * float64(k) * float64(n), call: call}
	}
	return []*probe{
		line("y = x·Wᵀ", func() { dev.MatMul(y, x, w, device.Gemm{TransB: true}) }),
		line("dx = dy·W", func() { dev.MatMul(dx, dy, w, device.Gemm{}) }),
		line("dW = dyᵀ·x", func() { dev.MatMul(dw, dy, x, device.Gemm{TransA: true}) }),
	}
}

func pointwiseProbes(dev device.Device, o Options) []*probe {
	rows := max(1, o.Floats/cols)
	x, y := random(dev, rows*cols, same).Mat(rows, cols), dev.Alloc(rows*cols).Mat(rows, cols)
	norm := device.Norm{X: x, Y: y, Gamma: random(dev, cols, same), Beta: random(dev, cols, same), Eps: 1e-5,
		Stats: dev.Alloc(2 * rows)}
	line := func(name string, call func()) *probe {
		size := fmt.Sprintf("%.3g MiB", float64(4*rows*cols)/(1<<20))
		p := &probe{Kernel: Kernel{Name: name, Size: size, Unit: "GB/s"}, work: 8e-9 * float64(rows*cols), call: call}
		if name != Copy {
			p.Of = Copy
		}
		return p
	}
	lines := []*probe{line(Copy, func() { dev.Copy(y, x) })}
	for _, f := range []struct {
		name string
		op   device.Act
	}{{"exp", device.Exp}, {"cos", device.Cos}, {"SiLU", device.SiLU}, {"GELU", device.GELU},
		{"softplus", device.Softplus}, {"tanh", device.Tanh}} {
		lines = append(lines, line(f.name, func() { dev.Map(f.op, y, x) }))
	}
	return append(lines, line("LayerNorm", func() { dev.Norm(norm) }))
}

// scanProbes are the selective scan of a Mamba block: L=33 steps, D=200 channels, N=16 states.
func scanProbes(dev device.Device, batch int) []*probe {
	const length, width, state = 33, 200, 16
	rows := batch * length
	positive := func(x float64) float64 { return 0.01 + 0.05*math.Abs(x) }
	seq := func(cols int, value func(x float64) float64) device.Mat {
		return random(dev, rows*cols, value).Mat(rows, cols)
	}
	logs := make([]float32, width*state)
	for i := range logs {
		logs[i] = float32(math.Log(float64(1 + i%state)))
	}
	s := device.Scan{
		Batch: batch, Len: length, Width: width, State: state,
		U: seq(width, same), Delta: seq(width, positive), ALog: dev.Alloc(width * state), B: seq(state, same),
		C: seq(state, same), Skip: random(dev, width, same), Gate: seq(width, same), Y: seq(width, same),
	}
	dev.Write(s.ALog, logs)
	back := device.ScanGrad{
		Scan: s, DY: seq(width, same), DU: seq(width, same), DDelta: seq(width, same), DB: seq(state, same),
		DC: seq(state, same), DGate: seq(width, same), DALog: dev.Alloc(width * state), DSkip: dev.Alloc(width),
	}
	size := fmt.Sprintf("B=%d L=%d D=%d N=%d", batch, length, width, state)
	return []*probe{
		{Kernel: Kernel{Name: "scan", Size: size}, call: func() { dev.Scan(s) }},
		{Kernel: Kernel{Name: "scan and gradient", Size: size}, call: func() { dev.Scan(s); dev.ScanGrad(back) }},
	}
}
