package checkpoint_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/optim"
	"github.com/dygmamba/dygmamba/nn"
)

// TestParams carries parameters and optimizer from one model to another of the same shape and other values.
func TestParams(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	build := func(seed uint64, width int) (*nn.Params, nn.Linear, *optim.Optimizer) {
		p := nn.NewParams(seed)
		l := nn.NewLinear(p.In("0.l"), 3, width)
		p.Add("1.x", nn.Normal, 5)
		p.Place(dev)
		return p, l, optim.New(p, optim.Config{Rule: device.Adam, Rate: 0.1})
	}
	step := func(p *nn.Params, l nn.Linear, o *optim.Optimizer) []float32 {
		tp := grad.NewTape(dev, true)
		p.ZeroGrad()
		tp.Backward(grad.Sum(tp, l.Act(tp, tp.Floats([]float32{1, 2, 3}, 1, 3), device.Tanh)))
		o.Step()
		return slices.Concat(p.Read(p.Get("0.l.weight")), p.Read(p.Get("0.l.bias")), p.Read(p.Get("1.x")))
	}
	a, la, oa := build(1, 4)
	step(a, la, oa)
	f := checkpoint.File{}
	f.AddParams(a)
	f.AddOptimizer(a, oa)

	b, lb, ob := build(2, 4)
	if err := f.RestoreParams(b); err != nil {
		t.Fatal(err)
	}
	if err := f.RestoreOptimizer(ob); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(step(a, la, oa), step(b, lb, ob)) {
		t.Error("the restored model goes elsewhere")
	}

	plain := checkpoint.File{}
	for _, q := range a.All() {
		plain.Tensors = append(plain.Tensors, checkpoint.Tensor{Name: q.Name, Shape: q.Shape(), Data: a.Read(q)})
	}
	if err := plain.RestoreParams(b); err != nil {
		t.Errorf("plain names: %v", err)
	}
	if err := plain.RestoreOptimizer(ob); err == nil {
		t.Error("an optimizer was restored from a file without one")
	}

	wide, _, _ := build(1, 5)
	before := wide.Read(wide.Get("1.x"))
	missing, extra := plain, plain
	missing.Tensors = plain.Tensors[1:]
	extra.Tensors = append(slices.Clone(plain.Tensors),
		checkpoint.Tensor{Name: "1.y", Shape: []int{1}, Data: []float32{1}})
	if plain.RestoreParams(wide) == nil || missing.RestoreParams(b) == nil || extra.RestoreParams(b) == nil {
		t.Error("parameters of another shape, too few or too many were accepted")
	}
	grown, _, _ := build(1, 5)
	grown.Get("1.x").Before = 4
	older := checkpoint.File{}
	for _, q := range grown.All() {
		x := checkpoint.Tensor{Name: q.Name, Shape: q.Shape(), Data: grown.Read(q)}
		if q.Name == "1.x" {
			x.Shape, x.Data = []int{4}, []float32{4, 3, 2, 1}
		}
		older.Tensors = append(older.Tensors, x)
	}
	if err := older.RestoreParams(grown); err != nil {
		t.Error(err)
	} else if got := grown.Read(grown.Get("1.x")); !slices.Equal(got, []float32{4, 3, 2, 1, 0}) {
		t.Errorf("a list of an older version became %v", got)
	}
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
		broken := checkpoint.File{Tensors: slices.Clone(plain.Tensors)}
		broken.Tensors[2].Data = []float32{1, 2, 3, x, 5}
		err := broken.RestoreParams(b)
		if err == nil || !strings.Contains(err.Error(), "element 3 of parameter 1.x is") {
			t.Errorf("%v as a parameter gave %v", x, err)
		}
	}
	if !slices.Equal(before, wide.Read(wide.Get("1.x"))) {
		t.Error("a refused file changed parameters")
	}
}
