package cpu

import "github.com/dygmamba/dygmamba/device"

// Softmax of every row; a chunk is a run of rows. A row whose entries are all −Inf gives zeros.
func (d *Device) Softmax(y, x device.Mat, mask device.Ints, fill float32) {
	if x.Rows == 0 || x.Cols == 0 {
		return
	}
	t := &d.fused.softmax
	*t = softmaxTask{loops: &d.fused.rows, y: y, x: x, mask: mask.Host, fill: fill, each: rowsPerChunk(x.Cols)}
	d.parallel(pieces(x.Rows, t.each), t)
}

// SoftmaxGrad is its gradient: dx = y·(dy − Σ y·dy). Where the mask was 0 the caller clears dx itself.
func (d *Device) SoftmaxGrad(dx, y, dy device.Mat) {
	if y.Rows == 0 || y.Cols == 0 {
		return
	}
	t := &d.fused.softmax
	*t = softmaxTask{loops: &d.fused.rows, y: dx, x: y, dy: dy, each: rowsPerChunk(y.Cols)}
	d.parallel(pieces(y.Rows, t.each), t)
}

type softmaxTask struct {
	loops    *rowLoops
	y, x, dy device.Mat // dy only for the gradient, where y is dx and x is y
	mask     []int32
	fill     float32
	each     int
}

func (t *softmaxTask) run(chunk, _ int) {
	for r := chunk * t.each; r < min(t.x.Rows, (chunk+1)*t.each); r++ {
		x, y := row(t.x, r), row(t.y, r)
		if t.dy.Given() {
			t.loops.softmaxGrad(y, x, row(t.dy, r))
			continue
		}
		copy(y, x)
		if len(t.mask) > 0 {
			fillMasked(y, t.mask[r*len(y):], t.fill)
		}
		t.loops.softmax(y)
	}
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
func (l *rowLoops) softmaxGrad(dx, y, dy []float32) {
	mean := l.dot(y, dy)
	for i, v := range y {
		dx[i] = v * (dy[i] - mean)
	}
}
