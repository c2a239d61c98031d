package grad_test

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// TestWalkBack: a walk back in parts finds what Backward does, and a gradient does not change any more once its
// parameter's first use was passed.
func TestWalkBack(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	var list []*tensor.Tensor
	for range 3 {
		w := &tensor.Tensor{Tracked: true, Data: dev.Alloc(4 * 4), Grad: dev.Alloc(4 * 4), GradStride: 4}
		w.SetShape([]int{4, 4})
		w.Of = w
		values := make([]float32, 16)
		for i := range values {
			values[i] = float32((i*7+len(list))%5) / 5
		}
		dev.Write(w.Data, values)
		list = append(list, w)
	}
	tp := grad.NewTape(dev, true)
	defer tp.Close()
	loss := func() *tensor.Tensor {
		x := tp.Floats([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4)
		x = grad.Linear(tp, x, list[0], nil, device.GELU)
		x = grad.Linear(tp, x, list[1], nil, device.ReLU)
		x = grad.Linear(tp, x, grad.Rows(tp, list[2], 0, 4), nil, device.GELU)
		x = grad.Linear(tp, x, list[1], nil, device.Identity) // once more
		return grad.Sum(tp, x)
	}
	read := func() (all [][]float32) {
		for _, w := range list {
			g := make([]float32, 16)
			dev.Read(g, w.Grad)
			all = append(all, g)
		}
		return all
	}
	zero := func() {
		for _, w := range list {
			dev.Zero(w.Grad)
			w.Touched = false
		}
	}
	tp.Reset(0)
	zero()
	tp.Backward(loss())
	want := read()
	tp.Reset(0)
	tp.NoteUses(true)
	zero()
	l := loss()
	first := []int{tp.FirstUse(list[0]), tp.FirstUse(list[1]), tp.FirstUse(list[2])}
	if !(first[0] < first[1] && first[1] < first[2]) {
		t.Fatalf("first uses %v, want them in the order of the layers", first)
	}
	if !tp.StartBack(l) {
		t.Fatal("nothing to walk back")
	}
	for k := 2; k >= 0; k-- {
		steps := 0
		tp.WalkBack(first[k], func() { steps++ })
		if got := read(); steps == 0 || !slices.Equal(got[k], want[k]) || !list[k].Touched {
			t.Errorf("parameter %d is %v after its first use was passed, want %v", k, got[k], want[k])
		}
		if k > 0 && list[k-1].Touched && k == 1 {
			t.Error("the first layer has a gradient before the walk came to it")
		}
	}
	tp.NoteUses(false)
}
