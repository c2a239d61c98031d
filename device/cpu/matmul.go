package cpu

import "github.com/dygmamba/dygmamba/device"

// MatMul computes C = act(A·B + bias), or C += A·B; see device.Gemm.
func (d *Device) MatMul(c, a, b device.Mat, g device.Gemm) {
	g.Batch = max(1, g.Batch)
	t := &d.tasks.product
	*t = productTask{d: d, c: c, a: a, b: b, g: g, m: c.Rows, n: c.Cols, k: a.Cols}
	if g.TransA {
		t.k = a.Rows
	}
	if t.m == 0 || t.n == 0 {
		return
	}
	t.each = rowsPerChunk(t.n)
	t.bands = pieces(t.m, t.each)
	d.parallel(g.Batch*t.bands, t)
}

// productTask is one call of MatMul: C [m,n], sums of k products.
type productTask struct {
	d       *Device
	c, a, b device.Mat
	g       device.Gemm
	m, n, k int
	each    int // rows of C in a chunk
	bands   int // chunks for each matrix of the batch
}

func (t *productTask) run(chunk, _ int) {
	i, lo := chunk/t.bands, chunk%t.bands*t.each
	hi := min(t.m, lo+t.each)
	a, b := t.a.Buf.Host[min(i*t.g.StepA, t.a.Buf.Len):], t.b.Buf.Host[min(i*t.g.StepB, t.b.Buf.Len):]
	out := t.c
	if t.g.Pre.Given() {
		out = t.g.Pre
	}
	for r := lo; r < hi; r++ {
		row := out.Buf.Host[i*t.g.StepC+r*out.Stride:][:t.n]
		t.row(row, a, b, r)
		t.d.loops.maps[t.g.Act](t.c.Buf.Host[i*t.g.StepC+r*t.c.Stride:][:t.n], row)
	}
}

// row is the plain product: c[j] = bias[j] + Σ_p A[r,p]·B[p,j], p ascending.
func (t *productTask) row(c, a, b []float32, r int) {
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
			for p, w := range b[j*t.b.Stride:][:t.k] {
				sum += a[first+p*step] * w
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
