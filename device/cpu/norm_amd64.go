package cpu

import "unsafe"

// normRows are the arguments of the vector forms of LayerNorm and its gradient, for a run of rows. Addresses are those of the first
// row, steps between rows in bytes; they are moved and therefore no Go pointers.
type normRows struct {
	x, residual, dy, y                 uintptr // y is dx in the gradient
	xStep, residualStep, dyStep, yStep int
	gamma, beta, means, scales         uintptr
	dgamma, dbeta                      uintptr // padded to whole vectors
	mask                               uintptr // of the columns after the last whole vector
	rows, whole, tail                  int     // whole vectors in bytes; columns after them
	n, eps                             float32
}

//go:noescape
func norm8(a *normRows)

//go:noescape
func normGrad8(a *normRows)

// columns cuts rows of cols numbers into whole vectors (their bytes), a rest, and the rest's mask.
func columns(cols int) (whole, tail int, mask uintptr) {
	tail = cols % lanes
	return 4 * (cols - tail), tail, uintptr(unsafe.Pointer(&laneMasks[lanes-tail]))
}

func (t *normTask) vectorRows(lo, hi int) {
	a := normRows{rows: hi - lo, n: float32(t.X.Cols), eps: t.Eps, gamma: addr(&t.Gamma.Host[0]), beta: addr(&t.Beta.Host[0]),
		means: addr(&t.Stats.Host[lo]), scales: addr(&t.Stats.Host[t.X.Rows+lo])}
	a.whole, a.tail, a.mask = columns(t.X.Cols)
	a.x, a.xStep = place(t.X, lo, 0)
	a.y, a.yStep = place(t.Y, lo, 0)
	if t.Residual.Given() {
		a.residual, a.residualStep = place(t.Residual, lo, 0)
	}
	norm8(&a)
}

// vectorRows adds to dgamma and dbeta, which are padded to whole vectors.
func (t *normGradTask) vectorRows(dgamma, dbeta []float32, lo, hi int) {
	a := normRows{rows: hi - lo, n: float32(t.X.Cols), gamma: addr(&t.Gamma.Host[0]), dgamma: addr(&dgamma[0]), dbeta: addr(&dbeta[0]),
		means: addr(&t.Stats.Host[lo]), scales: addr(&t.Stats.Host[t.X.Rows+lo])}
	a.whole, a.tail, a.mask = columns(t.X.Cols)
	a.x, a.xStep = place(t.X, lo, 0)
	a.dy, a.dyStep = place(t.DY, lo, 0)
	a.y, a.yStep = place(t.DX, lo, 0)
	normGrad8(&a)
}
