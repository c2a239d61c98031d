package cpu

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// TimeCode writes y[r,c] = cos(W[c]·Delta[r] + Bias[c]). Product and sum are each rounded to float32, as the reference
// rounds them: at Delta = 1e10 another rounding is another number. Rows with Mask 0 are zero.
func (d *Device) TimeCode(a device.TimeCode) {
	t := &d.tasks.code
	*t = codeTask{grid: cut(a.Y, false), f: d.loops.code, a: a}
	d.parallel(t.chunks(), t)
}

type codeTask struct {
	grid
	f func(y, w, bias []float32, delta float32)
	a device.TimeCode
}

func (t *codeTask) run(chunk, _ int) {
	r0, r1, lo, hi := t.span(chunk)
	w, bias := t.a.W.Host[:hi], t.a.Bias.Host[:hi]
	for r := r0; r < r1; r++ {
		y := run(t.a.Y, r, lo, hi)
		if t.a.Mask.Len > 0 && t.a.Mask.Host[r] == 0 {
			clear(y)
		} else {
			t.f(y, w, bias, t.a.Delta.Host[r])
		}
	}
}

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
	t := &d.tasks.codeGrad
	*t = codeGradTask{f: d.loops.codeGrad, a: a, cols: cols, sums: d.wide[:2*n*cols]}
	d.parallel(n, t)
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

type codeGradTask struct {
	f    func(dw, dbias []float64, dy, w, bias []float32, delta float32)
	a    device.TimeCodeGrad
	cols int       // d, rounded up to whole eights
	sums []float64 // [chunks, 2, cols]: dw, dbias
}

func (t *codeGradTask) run(chunk, _ int) {
	sums := t.sums[2*chunk*t.cols : 2*(chunk+1)*t.cols]
	clear(sums)
	d := t.a.DY.Cols
	w, bias := t.a.W.Host[:d], t.a.Bias.Host[:d]
	for r := chunk * codeRows; r < min(t.a.DY.Rows, (chunk+1)*codeRows); r++ {
		if t.a.Mask.Len == 0 || t.a.Mask.Host[r] != 0 {
			t.f(sums[:t.cols], sums[t.cols:], run(t.a.DY, r, 0, d), w, bias, t.a.Delta.Host[r])
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
