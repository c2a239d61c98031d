package grad_test

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// replaying is a device that does as a GPU does with a step: it runs the first, records the kernels of the second, and
// from then on lets only writes through and runs the recording.
type replaying struct {
	device.Device
	runs     int
	kernels  []func()
	launched int
}

func (d *replaying) Replay(_ int, step func()) {
	d.runs++
	step()
	if d.runs > 1 {
		for _, k := range d.kernels {
			k()
		}
	}
}

func (d *replaying) launch(k func()) {
	switch d.runs {
	case 0, 1:
		d.launched++
		k()
	case 2:
		d.kernels = append(d.kernels, k)
	}
}

func (d *replaying) Gather(y, table device.Mat, rows device.Ints, per int) {
	d.launch(func() { d.Device.Gather(y, table, rows, per) })
}

func (d *replaying) Assign(table, y device.Mat, rows device.Ints) {
	d.launch(func() { d.Device.Assign(table, y, rows) })
}

// TestAssign keeps a table through steps that read rows of it, then write others, on a device that replays them.
func TestAssign(t *testing.T) {
	for form, dev := range devices(t) {
		for _, record := range []bool{false, true} {
			on := &replaying{Device: dev}
			tp := grad.NewTape(on, record)
			const R, c = 5, 3
			table := &tensor.Tensor{}
			table.Set(dev.Alloc(R*c), R, c)
			want := make([]float32, R*c)
			tp.Reset(0)
			for step := range 5 {
				y := make([]float32, 4*c)
				for i := range y {
					y[i] = float32(100*step + i + 1)
				}
				rows := []int32{int32(step), -1, int32(step+1) % R, int32(step)} // the first is overwritten by the last
				before := slices.Clone(want)
				copy(want[rows[2]*c:], y[2*c:3*c])
				copy(want[rows[0]*c:], y[3*c:])

				var read *tensor.Tensor
				tp.Reset(0)
				tp.Replay(1, func() {
					at, x := tp.Ints(rows), tp.Floats(y, 2, 2, c)
					x.Tracked = true
					read = grad.Gather(tp, table, at, 1)
					grad.Assign(tp, table, x, at)
				})
				got, seen := make([]float32, R*c), make([]float32, 4*c)
				dev.Read(got, table.Data)
				dev.Read(seen, read.Data)
				if !slices.Equal(got, want) {
					t.Errorf("%s, record %v, step %d: the table is %v, want %v", form, record, step, got, want)
				}
				if first := before[rows[0]*c : rows[0]*c+c]; !slices.Equal(seen[:c], first) {
					t.Errorf("%s, record %v, step %d: read %v before the table was written, want %v",
						form, record, step, seen[:c], first)
				}
			}
			if on.launched != 2 || len(on.kernels) != 2 {
				t.Errorf("%d kernels ran and %d were recorded, want two each", on.launched, len(on.kernels))
			}
			tp.Close()
			dev.Free(table.Data)
		}
	}
}

// TestAssignKeepsGradients: writing rows that were read does not disturb the gradient of what was read, and writing
// none is fine.
func TestAssignKeepsGradients(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	tp := grad.NewTape(dev, true)
	table, y := tp.Floats([]float32{1, 2, 3, 4}, 2, 2), tp.Floats([]float32{5, 6}, 1, 2)
	table.Tracked, y.Tracked = true, true
	at := tp.Ints([]int32{1})
	loss := grad.Sum(tp, grad.Gather(tp, table, at, 1))
	grad.Assign(tp, table, y, at)
	grad.Assign(tp, table, tp.Zeros(0, 2), device.Ints{})
	tp.Backward(loss)
	if got := dense(tp, table); !slices.Equal(got, []float32{1, 2, 5, 6}) {
		t.Errorf("the table is %v", got)
	}
	got := make([]float32, 4)
	dev.Read(got, table.Grad)
	if !slices.Equal(got, []float32{0, 0, 1, 1}) || y.Grad.Len != 0 {
		t.Errorf("the table's gradient is %v; y has %d numbers of gradient, want none", got, y.Grad.Len)
	}
}
