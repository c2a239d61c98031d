package cpu_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
)

// What is kept gives the same products to the last bit, and is forgotten when the numbers change or their memory is
// given back.
func TestKeep(t *testing.T) {
	keeps, plain := cpu.New(cpu.Options{Threads: 2}), cpu.New(cpu.Options{Threads: 2})
	defer keeps.Close()
	defer plain.Close()
	const k, n = 37, 50
	random := rand.New(rand.NewPCG(1, 2))
	numbers := func(n int) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = random.Float32() - 0.5
		}
		return list
	}
	product := func(d *cpu.Device, w device.Buffer, x []float32, turned bool) []float32 {
		m := len(x) / k
		a, c := d.Alloc(len(x)), d.Alloc(m*n)
		defer d.Free(a)
		defer d.Free(c)
		d.Write(a, x)
		b := w.Slice(3, 3+k*n).Mat(k, n)
		if turned {
			b = w.Slice(3, 3+k*n).Mat(n, k)
		}
		d.MatMul(c.Mat(m, n), a.Mat(m, k), b, device.Gemm{TransB: turned})
		y := make([]float32, m*n)
		d.Read(y, c)
		return y
	}
	one, other := keeps.Alloc(3+k*n), plain.Alloc(3+k*n)
	keeps.Keep(one)
	step := keeps.AllocInts(1)
	plainStep := plain.AllocInts(1)
	for round := range 12 {
		switch round % 4 {
		case 0:
			w := numbers(3 + k*n)
			keeps.Write(one, w)
			plain.Write(other, w)
		case 2:
			g := numbers(3 + k*n)
			for _, d := range []struct {
				*cpu.Device
				w    device.Buffer
				step device.Ints
			}{{keeps, one, step}, {plain, other, plainStep}} {
				grad := d.Alloc(len(g))
				d.Write(grad, g)
				d.WriteInts(d.step, []int32{1})
				d.Update(device.Update{Rule: device.SGD, W: d.w, G: grad, Rate: 0.1, Step: d.step})
				d.Free(grad)
			}
		}
		for _, turned := range []bool{false, true} {
			x := numbers(k * (1 + 5*round))
			got, want := product(keeps, one, x, turned), product(plain, other, x, turned)
			if !slices.Equal(got, want) {
				t.Fatalf("round %d, turned %v: the product differs", round, turned)
			}
		}
	}
	keeps.Free(one)
	if n := keeps.Kept(); n != 0 {
		t.Errorf("%d packs are kept of memory that was given back", n)
	}
}
