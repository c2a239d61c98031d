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
	t := normTask{NormGrad: device.NormGrad{Norm: n}}
	launch(d, &d.tasks.norm, t, n.X.Rows, rowsPerChunk(n.X.Cols), d.loops.norm)
}

type normTask struct {
	device.NormGrad
	sums // for the gradient: those of Gamma and Beta, each padded to whole vectors
}

// partial are the gradients of Gamma and Beta that the chunk from row lo adds up.
func (t *normTask) partial(lo int) (dgamma, dbeta []float32) {
	part := t.sums.of(lo)
	return part[:t.size/2], part[t.size/2:]
}

func normPlain(t *normTask, lo, hi, _ int) {
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
	_, s := d.shares(rows, 2*padded(cols), 0)
	launch(d, &d.tasks.norm, normTask{n, s}, rows, s.each, d.loops.normGrad)
	sum := s.total(d)
	addTo(n.DGamma, sum[:cols])
	addTo(n.DBeta, sum[s.size/2:][:cols])
}

func normGradPlain(t *normTask, lo, hi, _ int) {
	rows := t.X.Rows
	dgamma, dbeta := t.partial(lo)
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
