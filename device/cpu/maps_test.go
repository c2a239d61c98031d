package cpu

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/device"
)

// samples are float32 numbers over the whole range, both signs, and closely spaced ones where functions bend.
func samples() (x []float32) {
	for b := uint32(0); b < 0xff800000; b += 20011 {
		if v := math.Float32frombits(b); v == v {
			x = append(x, v)
		}
	}
	for v := float32(-24); v < 24; v += 1.0 / 256 {
		x = append(x, v)
	}
	inf := float32(math.Inf(1))
	return append(x, 0, float32(math.Copysign(0, -1)), 1e10, -1e10, inf, -inf, float32(math.NaN()))
}

// bound is the largest error of a vector form: abs + rel·|exact| + near·|x|, and 1e-36 for what may be rounded to 0.
type bound struct{ abs, rel, near float64 }

var mapBounds = [acts]bound{
	device.ReLU: {}, device.GELU: {abs: 1e-7, rel: 2e-7}, device.SiLU: {rel: 3e-7}, device.Sigmoid: {rel: 3e-7},
	device.Tanh: {rel: 4e-7}, device.Softplus: {rel: 3e-7}, device.Exp: {rel: 2e-7}, device.Cos: {rel: 2e-7},
}

var gradBounds = [acts]bound{
	device.ReLU: {}, device.GELU: {abs: 3e-7}, device.SiLU: {abs: 2e-7, near: 6e-8}, device.Sigmoid: {rel: 3e-7},
	device.Tanh: {abs: 1e-7, rel: 1e-7}, device.Softplus: {rel: 3e-7}, device.Exp: {rel: 2e-7}, device.Cos: {rel: 2e-7},
}

// The vector forms agree with the plain ones, which round float64 results, over the whole range of float32.
func TestMapsAccuracy(t *testing.T) {
	d := New(Options{Threads: 1})
	defer d.Close()
	x := samples()
	got, want, dy := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
	for i := range dy {
		dy[i] = 1
	}
	for op := device.ReLU; op <= device.Cos; op++ {
		d.loops.maps[op](got, x)
		plain.maps[op](want, x)
		within(t, "map", op, x, got, want, mapBounds[op])
		y := append([]float32(nil), want...)
		d.loops.grads[op](got, x, y, dy)
		plain.grads[op](want, x, y, dy)
		within(t, "gradient", op, x, got, want, gradBounds[op])
	}
}

func within(t *testing.T, what string, op device.Act, x, got, want []float32, b bound) {
	t.Helper()
	for i := range x {
		v, w := float64(got[i]), float64(want[i])
		limit := b.abs + b.rel*math.Abs(w) + b.near*min(math.Abs(float64(x[i])), 1e30) + 1e-36
		if math.IsNaN(w) && math.IsNaN(v) || v == w || math.Abs(v-w) <= limit {
			continue
		}
		t.Errorf("%s %d of %v: %v, want %v within %.3g", what, op, x[i], v, w, limit)
		return
	}
}

// Phases reach 1e10; float32 rounding of the product is part of the definition.
func TestTimeCodeFarPhases(t *testing.T) {
	for _, plain := range []bool{false, true} {
		d := New(Options{Threads: 1, Plain: plain})
		w := float32(math.Pow(10, -9.0/99))
		y := d.Alloc(1)
		delta, weight := d.Alloc(1), d.Alloc(1)
		d.Write(delta, []float32{1e10})
		d.Write(weight, []float32{w})
		d.TimeCode(device.TimeCode{Delta: delta, W: weight, Bias: d.Alloc(1), Y: y.Mat(1, 1)})
		got, want := float64(y.Host[0]), math.Cos(float64(float32(w*1e10)))
		if math.Abs(got-want) > 1e-7 || math.Abs(got-0.98999) > 1e-4 {
			t.Errorf("plain=%v: cos of the second frequency at 1e10 is %v, want %v (0.98999)", plain, got, want)
		}
		d.Close()
	}
}
