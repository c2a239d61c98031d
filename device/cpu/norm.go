package cpu

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// Norm normalises rows; a chunk is a run of rows. Mean and variance take two passes over a row in cache.
func (d *Device) Norm(n device.Norm) {
	if n.X.Rows == 0 || n.X.Cols == 0 {
		return
	}
	t := &d.fused.norm
	*t = normTask{Norm: n, form: d.fused.forms.norm, each: rowsPerChunk(n.X.Cols)}
	d.parallel(pieces(n.X.Rows, t.each), t)
}

type normTask struct {
	device.Norm
	form func(t *normTask, lo, hi int)
	each int
}

func (t *normTask) run(chunk, _ int) { t.form(t, chunk*t.each, min(t.X.Rows, (chunk+1)*t.each)) }

func normPlain(t *normTask, lo, hi int) {
	for r := lo; r < hi; r++ {
		x := row(t.X, r)
		if t.Residual.Given() {
			for i, v := range row(t.Residual, r) {
				x[i] += v
			}
		}
		mean, scale := moments(x, t.Eps)
		t.Stats.Host[r], t.Stats.Host[t.X.Rows+r] = mean, scale
		y := row(t.Y, r)
		for i, v := range x {
			y[i] = (v-mean)*scale*t.Gamma.Host[i] + t.Beta.Host[i]
		}
	}
}

// moments returns the mean of x and 1/√(var+eps). It adds in float64, so that a mean far from 0 costs the variance no
// digits.
func moments(x []float32, eps float32) (mean, scale float32) {
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
	}
	center := sum / float64(len(x))
	for _, v := range x {
		squares += (float64(v) - center) * (float64(v) - center)
	}
	return float32(center), float32(1 / math.Sqrt(squares/float64(len(x))+float64(eps)))
}

// NormGrad is its gradient; a chunk is a fixed share of the rows with its own sums for the gradients of Gamma and Beta.
func (d *Device) NormGrad(n device.NormGrad) {
	rows, cols := n.X.Rows, n.X.Cols
	if rows == 0 || cols == 0 {
		return
	}
	t := &d.fused.normGrad
	*t = normGradTask{NormGrad: n, form: d.fused.forms.normGrad, each: share(rows), size: 2 * padded(cols)}
	t.parts = d.scratch(pieces(rows, t.each) * t.size)
	d.parallel(pieces(rows, t.each), t)
	sum := d.addShares(t.parts, t.size)
	addTo(n.DGamma, sum[:cols])
	addTo(n.DBeta, sum[t.size/2:][:cols])
}

type normGradTask struct {
	device.NormGrad
	form  func(t *normGradTask, dgamma, dbeta []float32, lo, hi int)
	each  int
	size  int
	parts []float32 // for every chunk: the gradients of Gamma and Beta, padded to whole vectors
}

func (t *normGradTask) run(chunk, _ int) {
	part := t.parts[chunk*t.size : (chunk+1)*t.size]
	clear(part)
	t.form(t, part[:t.size/2], part[t.size/2:], chunk*t.each, min(t.X.Rows, (chunk+1)*t.each))
}

func normGradPlain(t *normGradTask, dgamma, dbeta []float32, lo, hi int) {
	rows := t.X.Rows
	for r := lo; r < hi; r++ {
		normGradRow(row(t.DX, r), row(t.X, r), row(t.DY, r), t.Gamma.Host, dgamma, dbeta, t.Stats.Host[r],
			t.Stats.Host[rows+r])
	}
}

// normGradRow: with x̂ = (x−mean)·scale and g = dy·gamma, dx = scale·(g − mean(g) − x̂·mean(g·x̂)).
func normGradRow(dx, x, dy, gamma, dgamma, dbeta []float32, mean, scale float32) {
	var sum, dot float32
	for i, v := range x {
		hat := (v - mean) * scale
		g := dy[i] * gamma[i]
		sum += g
		dot += g * hat
		dgamma[i] += dy[i] * hat
		dbeta[i] += dy[i]
	}
	sum /= float32(len(x))
	dot /= float32(len(x))
	for i, v := range x {
		dx[i] = scale * (dy[i]*gamma[i] - sum - (v-mean)*scale*dot)
	}
}
