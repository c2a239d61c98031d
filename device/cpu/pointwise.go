package cpu

import "github.com/dygmamba/dygmamba/device"

// pointTask is a pointwise kernel. It sees its matrices as rows. When all of them are dense they are one long row, cut
// into runs; otherwise whole rows are shared out.
type pointTask struct {
	d          *Device
	step       func(t *pointTask, r, lo, hi, worker int) // columns [lo, hi) of row r
	y, x, z, w device.Mat                                // y = f(x, z, w)
	v          []float32
	act        device.Act
	op         device.Op
	a          float32
	drop       device.Drop
}

func (d *Device) points(dense bool, t pointTask) {
	t.d = d
	switch {
	case dense:
		launch(d, &d.tasks.points, t, t.x.Rows*t.x.Cols, chunkFloats, func(t *pointTask, lo, hi, worker int) {
			t.step(t, 0, lo, hi, worker)
		})
	case t.x.Cols > 0:
		launchEach(d, &d.tasks.points, t, t.x.Rows, rowsPerChunk(t.x.Cols), func(t *pointTask, r, worker int) {
			t.step(t, r, 0, t.x.Cols, worker)
		})
	}
}

// Map writes y = op(x).
func (d *Device) Map(op device.Act, y, x device.Mat) {
	d.points(x.Dense() && y.Dense(), pointTask{y: y, x: x, act: op, step: func(t *pointTask, r, lo, hi, _ int) {
		t.d.loops.maps[t.act](run(t.y, r, lo, hi), run(t.x, r, lo, hi))
	}})
}

// MapGrad writes dx = drop(dy)·op′(x). ReLU, Sigmoid, Tanh and Exp read y, the others x.
func (d *Device) MapGrad(op device.Act, dx, x, y, dy device.Mat, drop device.Drop) {
	if drop.Rate > 0 {
		d.Dropout(dx, dy, drop)
		dy = dx
	}
	if !x.Given() {
		x = dy
	}
	if !y.Given() {
		y = dy
	}
	dense := dx.Dense() && x.Dense() && y.Dense() && dy.Dense()
	d.points(dense, pointTask{y: dx, x: dy, z: x, w: y, act: op, step: func(t *pointTask, r, lo, hi, _ int) {
		t.d.loops.grads[t.act](run(t.y, r, lo, hi), run(t.z, r, lo, hi), run(t.w, r, lo, hi), run(t.x, r, lo, hi))
	}})
}

// Zip writes z = x op y.
func (d *Device) Zip(op device.Op, z, x, y device.Mat) {
	dense := z.Dense() && x.Dense() && y.Dense()
	d.points(dense, pointTask{y: z, x: x, z: y, op: op, step: func(t *pointTask, r, lo, hi, _ int) {
		t.d.loops.zips[t.op](run(t.y, r, lo, hi), run(t.x, r, lo, hi), run(t.z, r, lo, hi))
	}})
}

// ZipRow writes z[r,c] = x[r,c] op v[c].
func (d *Device) ZipRow(op device.Op, z, x device.Mat, v device.Buffer) {
	d.points(false, pointTask{y: z, x: x, v: v.Host, op: op, step: func(t *pointTask, r, lo, hi, _ int) {
		t.d.loops.zips[t.op](run(t.y, r, lo, hi), run(t.x, r, lo, hi), t.v[lo:hi])
	}})
}

// ZipCol writes z[r,c] = x[r,c] op v[r].
func (d *Device) ZipCol(op device.Op, z, x device.Mat, v device.Buffer) {
	d.points(false, pointTask{y: z, x: x, v: v.Host, op: op, step: func(t *pointTask, r, lo, hi, _ int) {
		t.d.loops.zipsOne[t.op](run(t.y, r, lo, hi), run(t.x, r, lo, hi), t.v[r])
	}})
}

// Scale writes y = a·x.
func (d *Device) Scale(y, x device.Mat, a float32) {
	d.points(x.Dense() && y.Dense(), pointTask{y: y, x: x, a: a, step: func(t *pointTask, r, lo, hi, _ int) {
		t.d.loops.scale(run(t.y, r, lo, hi), run(t.x, r, lo, hi), t.a)
	}})
}

// Copy writes y = x.
func (d *Device) Copy(y, x device.Mat) { d.Map(device.Identity, y, x) }
