package bench

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/trace"
)

func TestTimeProducts(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	p := trace.Product{M: 30, N: 20, K: 10, TransB: true, StrideA: 12, StrideB: 10, StrideC: 20}
	batched := trace.Product{M: 4, N: 5, K: 6, Batch: 3, StrideA: 6, StrideB: 5, StrideC: 5, StepA: 24, StepC: 20}
	gflop, ms, err := timeProducts(t.Context(), dev, []trace.Product{p, batched, p})
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
