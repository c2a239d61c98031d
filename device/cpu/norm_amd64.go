package cpu

// normRows are the arguments of the vector forms of LayerNorm and its gradient, for a run of rows; steps between rows
// are in bytes.
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

func normVector(t *normTask, lo, hi, _ int) {
	a := normRows{rows: hi - lo, n: float32(t.X.Cols), eps: t.Eps, gamma: addr(&t.Gamma.Host[0]),
		beta: addr(&t.Beta.Host[0]), means: addr(&t.Stats.Host[lo]), scales: addr(&t.Stats.Host[t.X.Rows+lo])}
	a.whole, a.tail, a.mask = columns(t.X.Cols)
	a.x, a.xStep = place(t.X, lo, 0)
	a.y, a.yStep = place(t.Y, lo, 0)
	if t.Residual.Given() {
		a.residual, a.residualStep = place(t.Residual, lo, 0)
	}
	norm8(&a)
}

func normGradVector(t *normTask, lo, hi, _ int) {
	dgamma, dbeta := t.partial(lo)
	a := normRows{rows: hi - lo, n: float32(t.X.Cols), gamma: addr(&t.Gamma.Host[0]), dgamma: addr(&dgamma[0]),
		dbeta: addr(&dbeta[0]), means: addr(&t.Stats.Host[lo]), scales: addr(&t.Stats.Host[t.X.Rows+lo])}
	a.whole, a.tail, a.mask = columns(t.X.Cols)
	a.x, a.xStep = place(t.X, lo, 0)
	a.dy, a.dyStep = place(t.DY, lo, 0)
	a.y, a.yStep = place(t.DX, lo, 0)
	normGrad8(&a)
}
