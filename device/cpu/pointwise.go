package cpu

import "github.com/dygmamba/dygmamba/device"

// A pointwise kernel sees its matrices as rows. When all of them are dense they are one long row, cut into runs;
// otherwise whole rows are shared out.

// grid is how a pointwise task cuts its matrices: chunk c covers rows [c·each, (c+1)·each), or, when flat, that many
// numbers of the one long row.
type grid struct {
	rows, cols, each int
	flat             bool
}

func cut(m device.Mat, dense bool) grid {
	if dense {
		return grid{rows: 1, cols: m.Rows * m.Cols, each: chunkFloats, flat: true}
	}
	return grid{rows: m.Rows, cols: m.Cols, each: rowsPerChunk(m.Cols)}
}

func (g grid) chunks() int {
	if g.flat {
		return pieces(g.cols, g.each)
	}
	if g.cols == 0 {
		return 0
	}
	return pieces(g.rows, g.each)
}

// span is what a chunk covers: rows [r0, r1), and of each the columns [lo, hi).
func (g grid) span(chunk int) (r0, r1, lo, hi int) {
	from := chunk * g.each
	if g.flat {
		return 0, 1, from, min(g.cols, from+g.each)
	}
	return from, min(g.rows, from+g.each), 0, g.cols
}

// run is the part [lo, hi) of row r.
func run(m device.Mat, r, lo, hi int) []float32 {
	at := r * m.Stride
	return m.Buf.Host[at+lo : at+hi]
}

// Map writes y = op(x).
func (d *Device) Map(op device.Act, y, x device.Mat) {
	t := &d.tasks.mapping
	*t = mapTask{cut(x, x.Dense() && y.Dense()), d.loops.maps[op], y, x}
	d.parallel(t.chunks(), t)
}

type mapTask struct {
	grid
	f    func(y, x []float32)
	y, x device.Mat
}

func (t *mapTask) run(chunk, _ int) {
	r0, r1, lo, hi := t.span(chunk)
	for r := r0; r < r1; r++ {
		t.f(run(t.y, r, lo, hi), run(t.x, r, lo, hi))
	}
}

// MapGrad writes dx = dy·op′(x). ReLU, Sigmoid, Tanh and Exp read y, the others x.
func (d *Device) MapGrad(op device.Act, dx, x, y, dy device.Mat) {
	t := &d.tasks.mapGrad
	if !x.Given() {
		x = dy
	}
	if !y.Given() {
		y = dy
	}
	*t = mapGradTask{cut(dy, dx.Dense() && x.Dense() && y.Dense() && dy.Dense()), d.loops.grads[op], dx, x, y, dy}
	d.parallel(t.chunks(), t)
}

type mapGradTask struct {
	grid
	f            func(dx, x, y, dy []float32)
	dx, x, y, dy device.Mat
}

func (t *mapGradTask) run(chunk, _ int) {
	r0, r1, lo, hi := t.span(chunk)
	for r := r0; r < r1; r++ {
		t.f(run(t.dx, r, lo, hi), run(t.x, r, lo, hi), run(t.y, r, lo, hi), run(t.dy, r, lo, hi))
	}
}

// Zip writes z = x op y.
func (d *Device) Zip(op device.Op, z, x, y device.Mat) {
	t := &d.tasks.zip
	*t = zipTask{cut(x, z.Dense() && x.Dense() && y.Dense()), d.loops.zips[op], z, x, y}
	d.parallel(t.chunks(), t)
}

type zipTask struct {
	grid
	f       func(z, x, y []float32)
	z, x, y device.Mat
}

func (t *zipTask) run(chunk, _ int) {
	r0, r1, lo, hi := t.span(chunk)
	for r := r0; r < r1; r++ {
		t.f(run(t.z, r, lo, hi), run(t.x, r, lo, hi), run(t.y, r, lo, hi))
	}
}

// ZipRow writes z[r,c] = x[r,c] op v[c].
func (d *Device) ZipRow(op device.Op, z, x device.Mat, v device.Buffer) {
	t := &d.tasks.zipVector
	*t = zipVectorTask{grid: cut(x, false), row: d.loops.zips[op], z: z, x: x, v: v.Host}
	d.parallel(t.chunks(), t)
}

// ZipCol writes z[r,c] = x[r,c] op v[r].
func (d *Device) ZipCol(op device.Op, z, x device.Mat, v device.Buffer) {
	t := &d.tasks.zipVector
	*t = zipVectorTask{grid: cut(x, false), col: d.loops.zipsOne[op], z: z, x: x, v: v.Host}
	d.parallel(t.chunks(), t)
}

type zipVectorTask struct {
	grid
	row  func(z, x, v []float32)
	col  func(z, x []float32, v float32)
	z, x device.Mat
	v    []float32
}

func (t *zipVectorTask) run(chunk, _ int) {
	r0, r1, lo, hi := t.span(chunk)
	for r := r0; r < r1; r++ {
		z, x := run(t.z, r, lo, hi), run(t.x, r, lo, hi)
		if t.row != nil {
			t.row(z, x, t.v[lo:hi])
		} else {
			t.col(z, x, t.v[r])
		}
	}
}

// Scale writes y = a·x.
func (d *Device) Scale(y, x device.Mat, a float32) {
	t := &d.tasks.scale
	*t = scaleTask{cut(x, x.Dense() && y.Dense()), d.loops.scale, y, x, a}
	d.parallel(t.chunks(), t)
}

type scaleTask struct {
	grid
	f    func(y, x []float32, a float32)
	y, x device.Mat
	a    float32
}

func (t *scaleTask) run(chunk, _ int) {
	r0, r1, lo, hi := t.span(chunk)
	for r := r0; r < r1; r++ {
		t.f(run(t.y, r, lo, hi), run(t.x, r, lo, hi), t.a)
	}
}

// Copy writes y = x.
func (d *Device) Copy(y, x device.Mat) { d.Map(device.Identity, y, x) }

// fill clears s.
func (d *Device) fill(s []float32) {
	d.tasks.clear = clearTask{s}
	d.parallel(pieces(len(s), clearFloats), &d.tasks.clear)
}

const clearFloats = 1 << 18

type clearTask struct{ s []float32 }

func (t *clearTask) run(chunk, _ int) {
	lo := chunk * clearFloats
	clear(t.s[lo:min(len(t.s), lo+clearFloats)])
}
