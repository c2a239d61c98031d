package cpu

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// TimeCode writes y[r,c] = cos(W[c]·Delta[r] + Bias[c]). Product and sum are each rounded to float32, as the reference
// rounds them: at Delta = 1e10 another rounding is another number. Rows with Mask 0 are zero.
func (d *Device) TimeCode(a device.TimeCode) {
	t := codeTask{TimeCodeGrad: device.TimeCodeGrad{TimeCode: a}, loops: &d.loops}
	launchEach(d, &d.tasks.code, t, a.Y.Rows, rowsPerChunk(a.Y.Cols), func(t *codeTask, r, _ int) {
		y := row(t.Y, r)
		if t.masked(r) {
			clear(y)
		} else {
			t.loops.code(y, t.W.Host[:len(y)], t.Bias.Host[:len(y)], t.Delta.Host[r])
		}
	})
}

type codeTask struct {
	device.TimeCodeGrad
	loops *loops
	cols  int       // of the gradient: d, rounded up to whole eights
	sums  []float64 // [chunks, 2, cols]: dw, dbias
}

func (t *codeTask) masked(r int) bool { return t.Mask.Len > 0 && t.Mask.Host[r] == 0 }

// codePlain is y[c] = cos(w[c]·delta + bias[c]).
func codePlain(y, w, bias []float32, delta float32) {
	for c := range y {
		y[c] = float32(math.Cos(float64(phase(w[c], bias[c], delta))))
	}
}

// phase rounds twice; the conversions keep the compiler from fusing the two.
func phase(w, bias, delta float32) float32 { return float32(float32(w*delta) + bias) }

// codeRows is how many rows are summed before the sum joins the others.
const codeRows = 256

// TimeCodeGrad adds to DW[c] and DBias[c] the sums over r of −sin(W[c]·Delta[r] + Bias[c])·DY[r,c], for DW times
// Delta[r]. Deltas reach 1e10, so the sums are taken in float64.
func (d *Device) TimeCodeGrad(a device.TimeCodeGrad) {
	n, cols := pieces(a.DY.Rows, codeRows), pieces(a.DY.Cols, 8)*8
	if need := 2 * n * cols; cap(d.wide) < need {
		d.wide = make([]float64, need)
	}
	t := codeTask{TimeCodeGrad: a, loops: &d.loops, cols: cols, sums: d.wide[:2*n*cols]}
	launch(d, &d.tasks.code, t, a.DY.Rows, codeRows, (*codeTask).add)
	for c := range a.DY.Cols {
		var dw, dbias float64
		for i := range n {
			dw += t.sums[2*i*cols+c]
			dbias += t.sums[(2*i+1)*cols+c]
		}
		a.DW.Host[c] += float32(dw)
		a.DBias.Host[c] += float32(dbias)
	}
}

func (t *codeTask) add(lo, hi, _ int) {
	at := 2 * lo / codeRows * t.cols
	dw, dbias := t.sums[at:at+t.cols], t.sums[at+t.cols:at+2*t.cols]
	clear(dw)
	clear(dbias)
	d := t.DY.Cols
	for r := lo; r < hi; r++ {
		if !t.masked(r) {
			t.loops.codeGrad(dw, dbias, row(t.DY, r), t.W.Host[:d], t.Bias.Host[:d], t.Delta.Host[r])
		}
	}
}

// codeGradPlain adds −sin(w[c]·delta + bias[c])·dy[c], for dw times delta.
func codeGradPlain(dw, dbias []float64, dy, w, bias []float32, delta float32) {
	for c := range dy {
		g := -math.Sin(float64(phase(w[c], bias[c], delta))) * float64(dy[c])
		dw[c] += g * float64(delta)
		dbias[c] += g
	}
}
