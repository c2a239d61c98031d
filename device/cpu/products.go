package cpu

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// four is the number of vectors that a scale has of a row, level 0 included; all is how many it has of both nodes.
const (
	four = device.DecayLevels + 1
	all  = 2 * four
)

// DecayedProducts takes inner products of vectors; a chunk is a run of rows of Y.
func (d *Device) DecayedProducts(w device.DecayedProducts) {
	if w.Y.Rows == 0 || w.Rates.Len == 0 {
		return
	}
	const most = 1 << 12 // products that a chunk takes
	t := decayTask{DecayedProducts: w, form: d.loops.products, dot: d.loops.dot}
	launchEach(d, &d.tasks.products, t, w.Y.Rows, max(1, most/max(1, w.Y.Cols)), (*decayTask).row)
}

type decayTask struct {
	device.DecayedProducts
	form func(t *decayTask, y []float32, r int)
	dot  func(x, y []float32) float32
}

// agedRow is a row at a query: its vectors, and what those of each level have decayed to.
type agedRow struct {
	vectors []float32
	decay   [four]float32
}

func (t *decayTask) row(r, _ int) {
	y := row(t.Y, r)
	switch {
	case t.Pairs:
		t.pairs(y, r)
	case t.Of.Host[r] < 0:
		clear(y)
	default:
		t.form(t, y, r)
	}
}

// productsPlain holds a row against the two nodes of its query.
func productsPlain(t *decayTask, y []float32, r int) {
	q := r / t.Each % t.Src.Len
	for s := range t.Rates.Len {
		of := t.at(t.Of.Host[r], t.Age.Host[r], s)
		src, dst := t.at(t.Src.Host[q], t.SrcAge.Host[q], s), t.at(t.Dst.Host[q], t.DstAge.Host[q], s)
		for a := range four {
			x, decay := t.vector(&of, s, a), of.decay[a]
			for b := range four {
				y[b] = positiveLog(t.dot(x, t.vector(&src, s, b)) * (decay * src.decay[b]))
				y[four+b] = positiveLog(t.dot(x, t.vector(&dst, s, b)) * (decay * dst.decay[b]))
			}
			y = y[all:]
		}
	}
}

// pairs holds the vectors of a query's nodes against each other.
func (t *decayTask) pairs(y []float32, q int) {
	for s := range t.Rates.Len {
		nodes := [2]agedRow{t.at(t.Src.Host[q], t.SrcAge.Host[q], s), t.at(t.Dst.Host[q], t.DstAge.Host[q], s)}
		for a := range all {
			x := &nodes[a/four]
			for b := a; b < all; b++ {
				z := &nodes[b/four]
				product := t.dot(t.vector(x, s, a%four), t.vector(z, s, b%four))
				y[0] = positiveLog(product * (x.decay[a%four] * z.decay[b%four]))
				y = y[1:]
			}
		}
	}
}

func (t *decayTask) at(number int32, age float32, scale int) agedRow {
	r := agedRow{vectors: row(t.Table, int(number))}
	once := float32(math.Exp(-float64(t.Rates.Host[scale] * age)))
	r.decay[0] = 1
	for l := 1; l < four; l++ {
		r.decay[l] = r.decay[l-1] * once
	}
	return r
}

func (t *decayTask) vector(r *agedRow, scale, level int) []float32 {
	at := 0
	if level > 0 {
		at = (scale*device.DecayLevels + level) * t.Dim
	}
	return r.vectors[at : at+t.Dim : at+t.Dim]
}

// positiveLog is log(1 + max(0, x)), 1 + x rounded to float32.
func positiveLog(x float32) float32 {
	if !(x > 0) {
		return 0
	}
	return logPlain(1 + x)
}

// logPlain is the logarithm of a number that is at least 1: x = 2^k·m with m in [√½, √2), and log m by a polynomial.
func logPlain(x float32) float32 {
	bits := math.Float32bits(x)
	k := int32(bits>>23) - 126
	m := math.Float32frombits(bits&0x7fffff | 0x3f000000) // [½, 1)
	if m < math.Sqrt2/2 {
		k--
		m *= 2
	}
	// log m = 2·(z + z³/3 + z⁵/5 + …) with z = (m−1)/(m+1), |z| < 0.172: the next term is below 1e-9.
	z := (m - 1) / (m + 1)
	w := z * z
	series := float32(1.0 / 11)
	for _, c := range [...]float32{1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1} {
		series = series*w + c
	}
	return float32(k)*math.Ln2 + 2*z*series
}
