package cpu

import "github.com/dygmamba/dygmamba/device"

// Softmax of every row; a chunk is a run of rows. A row whose entries are all −Inf gives zeros.
func (d *Device) Softmax(y, x device.Mat, mask device.Ints, fill float32) {
	if x.Rows == 0 || x.Cols == 0 {
		return
	}
	t := softmaxTask{loops: &d.loops, y: y, x: x, mask: mask.Host, fill: fill}
	launchEach(d, &d.tasks.softmax, t, x.Rows, rowsPerChunk(x.Cols), func(t *softmaxTask, r, _ int) {
		y := row(t.y, r)
		copy(y, row(t.x, r))
		if len(t.mask) > 0 {
			fillMasked(y, t.mask[r*len(y):], t.fill)
		}
		t.loops.softmax(y)
	})
}

// SoftmaxGrad is its gradient: dx = y·(dy − Σ y·dy). Where the mask was 0 the caller clears dx itself.
func (d *Device) SoftmaxGrad(dx, y, dy device.Mat) {
	if y.Rows == 0 || y.Cols == 0 {
		return
	}
	t := softmaxTask{loops: &d.loops, y: y, x: dx, dy: dy}
	launchEach(d, &d.tasks.softmax, t, y.Rows, rowsPerChunk(y.Cols), func(t *softmaxTask, r, _ int) {
		t.loops.softmaxGrad(row(t.x, r), row(t.y, r), row(t.dy, r))
	})
}

type softmaxTask struct {
	loops    *loops
	y, x, dy device.Mat // of the gradient, x is dx
	mask     []int32
	fill     float32
}

// fillMasked sets x to fill where mask is 0.
func fillMasked(x []float32, mask []int32, fill float32) {
	for i := range x {
		if mask[i] == 0 {
			x[i] = fill
		}
	}
}

// softmaxGrad writes dx, which may be dy.
func (l *loops) softmaxGrad(dx, y, dy []float32) {
	mean := l.dot(y, dy)
	for i, v := range y {
		dx[i] = v * (dy[i] - mean)
	}
}
