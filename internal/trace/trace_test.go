package trace_test

import (
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/dry"
	"github.com/dygmamba/dygmamba/internal/trace"
)

// slow is a device whose copies take a while.
type slow struct{ *dry.Device }

func (slow) Copy(y, x device.Mat) { time.Sleep(2 * time.Millisecond) }

func TestTrace(t *testing.T) {
	d := trace.New(slow{dry.New(0)})
	a, b, c := d.Alloc(12).Mat(4, 3), d.Alloc(20).Mat(4, 5), d.Alloc(15).Mat(3, 5)
	d.MatMul(c, a, b, device.Gemm{TransA: true, Acc: true})
	d.MatMul(c, b.Columns(0, 4), a, device.Gemm{Batch: 3})
	d.Copy(a, a)
	d.Copy(a, a)

	p := d.Products()
	if len(p) != 2 || p[0].M != 3 || p[0].N != 5 || p[0].K != 4 || !p[0].Acc || p[0].Flops() != 2*3*5*4 {
		t.Fatalf("products %+v", p)
	}
	if p[1].K != 4 || p[1].StrideA != 5 || p[1].Flops() != 3*2*3*5*4 {
		t.Errorf("second product %+v", p[1])
	}
	k := d.Kernels()
	if len(k) != 2 || k[0].Name != "Copy" || k[0].Calls != 2 || k[0].Time < 4 ||
		k[1].Name != "MatMul" || k[1].Calls != 2 {
		t.Errorf("kernels %+v", k)
	}
	d.Reset()
	if len(d.Products()) != 0 || len(d.Kernels()) != 0 {
		t.Error("something is left after Reset")
	}
}
