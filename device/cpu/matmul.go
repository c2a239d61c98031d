package cpu

import "github.com/dygmamba/dygmamba/device"

// MatMul computes C = act(A·B + bias), or C += A·B; see device.Gemm. An element of C depends on its row of A, its
// column of B and the sizes K and N alone, never on the other rows.
func (d *Device) MatMul(c, a, b device.Mat, g device.Gemm) {
	g.Batch = max(1, g.Batch)
	t := &d.tasks.product
	*t = productTask{d: d, c: c, a: a, b: b, g: g, m: c.Rows, n: c.Cols, k: a.Cols}
	if g.TransA {
		t.k = a.Rows
	}
	switch {
	case t.m == 0 || t.n == 0:
	case d.loops.tile.wide == nil || t.k == 0:
		t.plain()
	case g.TransA:
		t.long()
	default:
		t.packed()
	}
	if d.stopped() {
		d.kept.forget() // what was packed may not be whole
		panic(&device.Stopped{Device: d.name})
	}
	if g.Drop.Rate > 0 {
		d.Dropout(c, c, g.Drop)
	}
}

// productTask is one call of MatMul: C [m,n], each number a sum of k products. It runs in steps that share their
// arguments.
type productTask struct {
	d       *Device
	c, a, b device.Mat
	g       device.Gemm
	m, n, k int
	step    func(t *productTask, chunk, worker int)
	bands   int       // chunks for each matrix of the batch
	each    int       // rows of C, or terms of the sums, in a chunk
	shared  []float32 // packed B, or partial sums
	bias    []float32 // what the sums of a row start at
}

func (t *productTask) run(chunk, worker int) {
	if !t.d.stopped() {
		t.step(t, chunk, worker)
	}
}

// matrix is the memory from matrix i of the batch on.
func matrix(m device.Mat, i, step int) []float32 { return m.Buf.Host[min(i*step, m.Buf.Len):] }

// out is where products go before the activation.
func (t *productTask) out() device.Mat {
	if t.g.Pre.Given() {
		return t.g.Pre
	}
	return t.c
}

// finish applies the activation to rows [lo, hi) of matrix i.
func (t *productTask) finish(i, lo, hi int) {
	if t.g.Act == device.Identity && !t.g.Pre.Given() {
		return
	}
	from, act := t.out(), t.d.loops.maps[t.g.Act]
	y, x := matrix(t.c, i, t.g.StepC)[lo*t.c.Stride:], matrix(from, i, t.g.StepC)[lo*from.Stride:]
	rows, cols := hi-lo, t.n
	if t.c.Stride == cols && from.Stride == cols {
		rows, cols = 1, rows*cols
	}
	for r := range rows {
		act(y[r*t.c.Stride:][:cols], x[r*from.Stride:][:cols])
	}
}

func (t *productTask) plain() {
	t.each = rowsPerChunk(t.n)
	t.bands = pieces(t.m, t.each)
	t.step = (*productTask).plainRows
	t.d.parallel(t.g.Batch*t.bands, t)
}

func (t *productTask) plainRows(chunk, _ int) {
	i, lo := chunk/t.bands, chunk%t.bands*t.each
	a, b, out := matrix(t.a, i, t.g.StepA), matrix(t.b, i, t.g.StepB), t.out()
	hi := min(t.m, lo+t.each)
	for r := lo; r < hi; r++ {
		t.plainRow(matrix(out, i, t.g.StepC)[r*out.Stride:][:t.n], a, b, r)
	}
	t.finish(i, lo, hi)
}

// plainRow is c[j] = bias[j] + Σ_p A[r,p]·B[p,j], p ascending.
func (t *productTask) plainRow(c, a, b []float32, r int) {
	switch {
	case t.g.Acc:
	case t.g.Bias.Len > 0:
		copy(c, t.g.Bias.Host)
	default:
		clear(c)
	}
	first, step := r*t.a.Stride, 1
	if t.g.TransA {
		first, step = r, t.a.Stride
	}
	if t.g.TransB {
		for j := range c {
			sum := c[j]
			for p := range t.k {
				sum += a[first+p*step] * b[j*t.b.Stride+p]
			}
			c[j] = sum
		}
		return
	}
	for p := range t.k {
		v := a[first+p*step]
		for j, w := range b[p*t.b.Stride:][:len(c)] {
			c[j] += v * w
		}
	}
}
