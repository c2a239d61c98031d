package cpu

import (
	"errors"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// A product that is stopped panics and leaves nothing behind: the next ones are as they would have been, also of what
// the device keeps packed.
func TestStopWhen(t *testing.T) {
	for _, plain := range []bool{false, true} {
		d := New(Options{Threads: 2, Plain: plain})
		defer d.Close()
		const m, k, n = 500, 40, 300
		mat := func(rows, cols int) device.Mat {
			b := d.Alloc(rows * cols)
			for i := range b.Host {
				b.Host[i] = float32(i%17) - 8
			}
			return b.Mat(rows, cols)
		}
		a, b, c := mat(m, k), mat(k, n), mat(m, n)
		d.MatMul(c, a, b, device.Gemm{})
		want := slices.Clone(c.Buf.Host)
		d.Keep(b.Buf)
		done := make(chan struct{})
		d.StopWhen(done)
		d.MatMul(c, a, b, device.Gemm{})
		if !slices.Equal(c.Buf.Host, want) {
			t.Fatal("a product that was not stopped came out otherwise")
		}
		close(done)
		b.Buf.Host[0]++
		d.Write(b.Buf, b.Buf.Host) // so that it has to be packed again
		var stopped *device.Stopped
		if err := tensor.Guard(func() { d.MatMul(c, a, b, device.Gemm{}) }); !errors.As(err, &stopped) {
			t.Fatalf("stopped with %v", err)
		}
		d.StopWhen(nil)
		b.Buf.Host[0]--
		d.Write(b.Buf, b.Buf.Host)
		clear(c.Buf.Host)
		d.MatMul(c, a, b, device.Gemm{})
		if !slices.Equal(c.Buf.Host, want) {
			t.Fatal("after a product was stopped the next came out otherwise")
		}
	}
}
