package recorded_test

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/recorded"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestReplay: what is written changes from step to step, what is an argument does not after the second.
func TestReplay(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	d := recorded.New(dev)
	x, y := d.Alloc(2), d.Alloc(2)
	step := func(key int, value, factor float32) []float32 {
		d.Replay(key, func() {
			d.Write(x, []float32{value, 2 * value})
			d.Scale(y.Mat(1, 2), x.Mat(1, 2), factor)
		})
		got := make([]float32, 2)
		d.Read(got, y)
		return got
	}
	for i, c := range []struct {
		key           int
		value, factor float32
		want          []float32
	}{
		{1, 1, 10, []float32{10, 20}}, {1, 2, 100, []float32{200, 400}}, {1, 3, 1000, []float32{300, 600}},
		{2, 4, 1000, []float32{4000, 8000}}, {1, 5, 1, []float32{500, 1000}},
	} {
		if got := step(c.key, c.value, c.factor); !slices.Equal(got, c.want) {
			t.Errorf("step %d gives %v, want %v", i, got, c.want)
		}
	}
	failed := tensor.Guard(func() { d.Replay(1, func() { d.Read(make([]float32, 2), y) }) })
	if _, ok := failed.(*device.Failure); !ok {
		t.Errorf("a step that reads what it computes gives %v", failed)
	}
	if got := step(1, 6, 1); got[0] != 600 {
		t.Errorf("after a failure %v", got)
	}
}
