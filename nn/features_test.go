package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/dry"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// waves are n numbers, none of them zero.
func waves(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)+0.5)) + 2
	}
	return x
}

// TestFeaturesGather reads rows that are there, that are not there yet, and that are none.
func TestFeaturesGather(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	data := waves(5 * 3)
	f := nn.NewFeatures(dev, data, 5, 3)
	defer f.Close()
	tp := grad.NewTape(dev, false)
	rows := f.Load(tp, []int32{4, 0}, nil, []int32{5, -1, 1})
	none := []float32{0, 0, 0}
	want := slices.Concat(data[12:15], data[0:3], none, none, data[3:6])
	if got := read(dev, f.Gather(tp, rows, 3)); !slices.Equal(got, want) {
		t.Errorf("rows 4, 0, 5, −1, 1 are\n%v, want\n%v", got, want)
	}
	tp.Floats(waves(100), 100) // so that zeros do not come from memory that was never used
	tp.Reset(0)
	rows = f.Load(tp, []int32{4, 9, 1})
	wide := read(dev, f.Gather(tp, rows, 5))
	want = slices.Concat(data[12:15], []float32{0, 0}, none, []float32{0, 0}, data[3:6], []float32{0, 0})
	if !slices.Equal(wide, want) {
		t.Errorf("rows 4, 9, 1 of width 5 are\n%v, want\n%v", wide, want)
	}
	if err := tensor.Guard(func() { f.Gather(tp, rows, 2) }); err == nil {
		t.Error("rows of 3 columns were put into 2")
	}
	if err := tensor.Guard(func() { nn.NewFeatures(dev, data, 5, 4) }); err == nil {
		t.Error("15 numbers were taken for 5 rows of 4 columns")
	}
}

// TestFeaturesZero has no table until there is something in it, and then one with all rows that went before.
func TestFeaturesZero(t *testing.T) {
	dev := dry.New(0)
	for name, data := range map[string][]float32{"nil": nil, "zeros": make([]float32, 6)} {
		f := nn.NewFeatures(dev, data, 3, 2)
		tp := grad.NewTape(dev, false)
		held := dev.Bytes()
		rows := f.Load(tp, []int32{0, 1})
		if !f.Empty() || f.Table() != nil || f.Gather(tp, rows, 2) != nil || f.Project(tp, rows, nil, 2) != nil ||
			len(f.Part(tp, nil, rows, 0)) != 0 || dev.Bytes() != held {
			t.Errorf("%s: a table of zeros is there", name)
		}
		f.Close()
	}
	host := cpu.New(cpu.Options{Threads: 1})
	defer host.Close()
	f := nn.NewFeatures(host, nil, 3, 2)
	defer f.Close()
	f.Grow(nil, 1)
	f.Grow(make([]float32, 2), 1)
	if !f.Empty() || f.Rows() != 5 || f.Moves() != 0 {
		t.Errorf("five rows of zeros: empty %v, %d rows, %d moves", f.Empty(), f.Rows(), f.Moves())
	}
	f.Grow([]float32{7, 8}, 1)
	f.Grow(nil, 1)
	if f.Empty() || f.Rows() != 7 || f.Moves() == 0 {
		t.Errorf("a row that is not zero: empty %v, %d rows, %d moves", f.Empty(), f.Rows(), f.Moves())
	}
	tp := grad.NewTape(host, false)
	got := read(host, f.Gather(tp, f.Load(tp, []int32{4, 5, 6}), 2))
	if want := []float32{0, 0, 7, 8, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("rows 4, 5, 6 are %v, want %v", got, want)
	}
}

// TestFeaturesGrow appends rows one by one. The table moves seldom, says so each time, and keeps what it held.
func TestFeaturesGrow(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	const rows, cols = 3000, 3
	data := waves(rows * cols)
	f := nn.NewFeatures(dev, data[:2*cols], 2, cols)
	defer f.Close()
	where, moves := &f.Table().Data.Host[0], f.Moves()
	for r := 2; r < rows; r++ {
		f.Grow(data[r*cols:(r+1)*cols], 1)
		now := &f.Table().Data.Host[0]
		if (now != where) != (f.Moves() != moves) {
			t.Fatalf("row %d: moved %v, but the count went from %d to %d", r, now != where, moves, f.Moves())
		}
		where, moves = now, f.Moves()
	}
	if moves > 25 {
		t.Errorf("%d rows moved the table %d times", rows, moves)
	}
	if !slices.Equal(read(dev, f.Table()), data) {
		t.Error("the table is not what was appended")
	}

	// No memory: the table stays as it was.
	small := dry.New(1000)
	g := nn.NewFeatures(small, data[:150], 50, cols)
	func() {
		defer func() {
			if _, ok := recover().(*device.OutOfMemory); !ok {
				t.Error("a table beyond the memory was taken")
			}
		}()
		g.Grow(data[:150], 50)
	}()
	if g.Rows() != 50 || g.Table().Rows() != 50 || small.Bytes() != 600 {
		t.Errorf("after a failure there are %d rows, %d in the table, on %d bytes",
			g.Rows(), g.Table().Rows(), small.Bytes())
	}
}

// TestFeaturesProject compares with a linear map of rows that are written out, zeros and all: values and gradient of
// the weight.
func TestFeaturesProject(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	const cols, per, out = 3, 2, 4
	data := waves(5 * cols)
	ids := []int32{4, -1, 2, 7, 0, 3}
	for _, width := range []int{cols, 5} {
		p := nn.NewParams(5)
		l := nn.NewProjection(p.In("l"), per*width, out)
		p.Place(dev)
		f := nn.NewFeatures(dev, data, 5, cols)
		defer f.Close()
		full := make([]float32, len(ids)*width)
		for i, r := range ids {
			if r >= 0 && r < 5 {
				copy(full[i*width:], data[r*cols:(r+1)*cols])
			}
		}
		run := func(forward func(tp *grad.Tape) *tensor.Tensor) (y, dw []float32) {
			p.ZeroGrad()
			tp := grad.NewTape(dev, true)
			x := forward(tp)
			n := x.Len()
			weights := tp.Floats(waves(n), 1, n)
			tp.Backward(grad.Linear(tp, grad.Reshape(tp, x, 1, n), weights, nil, device.Identity))
			return read(dev, x), p.ReadGrad(p.Get("l.weight"))
		}
		want, wantGrad := run(func(tp *grad.Tape) *tensor.Tensor {
			return l.Forward(tp, tp.Floats(full, len(ids)/per, per*width))
		})
		if slices.Max(wantGrad) == 0 {
			t.Fatal("there is no gradient to compare with")
		}
		got, gotGrad := run(func(tp *grad.Tape) *tensor.Tensor { return f.Project(tp, f.Load(tp, ids), l.W, width) })
		for i, w := range want {
			near(t, "a projected feature", float64(got[i]), float64(w), 1e-5)
		}
		for i, w := range wantGrad {
			near(t, "a gradient", float64(gotGrad[i]), float64(w), 1e-5)
		}
	}
}

// TestFeaturesPart joins features with other numbers in one map.
func TestFeaturesPart(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	p := nn.NewParams(5)
	l := nn.NewLinear(p.In("l"), 2+4+1, 3) // [x ‖ features of width 4 ‖ y]
	p.Place(dev)
	data := waves(2 * 3)
	f := nn.NewFeatures(dev, data, 2, 3)
	defer f.Close()
	tp := grad.NewTape(dev, false)
	x, y := tp.Floats([]float32{1, 2, 3, 4}, 2, 2), tp.Floats([]float32{5, 6}, 2, 1)
	parts := []grad.Part{{X: x, Lo: 0}, {X: y, Lo: 6}}
	parts = f.Part(tp, parts, f.Load(tp, []int32{1, 2}), 2)
	got := read(dev, grad.LinearSum(tp, l.W, l.B, device.Identity, parts...))
	rows := slices.Concat([]float32{1, 2}, data[3:6], []float32{0, 5}, []float32{3, 4, 0, 0, 0, 0, 6})
	want := read(dev, l.Forward(tp, tp.Floats(rows, 2, 7)))
	for i := range want {
		near(t, "a joined feature", float64(got[i]), float64(want[i]), 1e-5)
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
