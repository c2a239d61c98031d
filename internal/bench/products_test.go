package bench

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/trace"
)

// bare is a device that refuses a product that is not alone, or does not fit.
type bare struct{ device.Device }

func (d bare) MatMul(c, a, b device.Mat, g device.Gemm) {
	if g.Bias.Len > 0 || g.Act != device.Identity || a.Buf.Len < a.Rows*a.Stride || b.Buf.Len < b.Rows*b.Stride {
		panic("not a bare product")
	}
	d.Device.MatMul(c, a, b, g)
}

func TestTimeProducts(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	p := trace.Product{M: 30, N: 20, K: 10, TransB: true, StrideA: 12, StrideB: 10, StrideC: 20}
	batched := trace.Product{M: 4, N: 5, K: 6, Batch: 3, StrideA: 6, StrideB: 5, StrideC: 5, StepA: 24, StepC: 20}
	biased := p
	biased.Bias, biased.Act = true, device.GELU
	gflop, ms, err := timeProducts(t.Context(), bare{dev}, []trace.Product{p, batched, biased})
	if err != nil {
		t.Fatal(err)
	}
	if want := float64(2*(2*30*20*10)+2*3*4*5*6) / 1e9; math.Abs(gflop-want) > 1e-15 {
		t.Errorf("%v GFLOP, want %v", gflop, want)
	}
	if !(ms > 0) {
		t.Errorf("floor %v ms", ms)
	}
}
