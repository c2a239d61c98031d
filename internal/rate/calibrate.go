package rate

import (
	"math"
	"slices"
)

// Asked is a window of a pair that was asked about in validation, and what happened in it.
type Asked struct {
	Pair         Window // as far as it is not corrected
	Share, Later float64
	Events       float64 // of the pair
	Weight       float64 // how many such questions it stands for
	Source       Counts  // events of the source
}

// terms are what a correction is a sum of: 1, the logarithm x itself, and how the share of the next event compares with
// those after it.
func terms(x, share, later float64) [3]float64 {
	return [3]float64{1, x, max(-5, min(5, math.Log((share+1e-9)/(later+1e-9))))}
}

// cloglog is ln(−ln(1 − p)).
func cloglog(p float64) float64 { return clamp(math.Log(-math.Log1p(-min(p, 1-1e-12)))) }

func clamp(x float64) float64 { return max(-20, min(5, x)) }

func dot(a [3]float32, b [3]float64) float64 {
	return float64(a[0])*b[0] + float64(a[1])*b[1] + float64(a[2])*b[2]
}

// Pair corrects a window of a pair.
func (c Correction) Pair(w Window, share, later float64) Window {
	if w.Probability <= 0 {
		return w
	}
	p := clamp(c.correct(c.Probability, terms(cloglog(w.Probability), share, later), c.Seen[0]))
	e := c.correct(c.Expected, terms(math.Log(w.Expected), share, later), c.Seen[1])
	w.Probability = -math.Expm1(-math.Exp(p))
	w.Expected = max(math.Exp(max(-20, min(e, math.Log(w.Expected)+3))), w.Probability)
	return w
}

// correct adds to the second term what the sum of all differs from it, where validation has seen such terms, and
// otherwise at the nearest ones that it has seen.
func (c Correction) correct(by [3]float32, x [3]float64, seen [2]float32) float64 {
	within := func(x float64, seen [2]float32) float64 { return max(float64(seen[0]), min(float64(seen[1]), x)) }
	near := [3]float64{1, within(x[1], seen), within(x[2], c.Seen[2])}
	return x[1] + dot(by, near) - near[1]
}

// FitCorrection finds the correction of windows of one length that makes what happened most likely. Few events move it
// little. Windows are those of a model whose correction of sources is 0.
func FitCorrection(list []Asked) Correction {
	c := noCorrection
	var source Counts
	events, squares := 0.0, 0.0
	for _, a := range list {
		source.Expected += a.Weight * a.Source.Expected
		source.Observed += a.Weight * a.Source.Observed
		events += a.Weight * a.Events
		squares += a.Weight * a.Events * a.Events
	}
	c.Source = float32(math.Log((source.Observed + prior) / (source.Expected + prior)))
	probability := func(a *Asked) float64 { return cloglog(a.Pair.Probability) }
	number := func(a *Asked) float64 { return math.Log(a.Pair.Expected) }
	c.Seen = [3][2]float32{seen(list, probability), seen(list, number),
		seen(list, func(a *Asked) float64 { return terms(0, a.Share, a.Later)[2] })}
	c.Probability = fitTerms(list, 1, func(a *Asked, z float64) (g, h float64) {
		mass := math.Exp(min(z, 5)) // −ln(1−p)
		if a.Events == 0 {
			return mass, mass
		}
		e := math.Exp(-mass)
		x := mass * e / max(1e-12, 1-e)
		return -x, x // of −ln(1−e^(−mass)); the expected curvature is positive
	}, probability)
	// events that come in bursts count like one
	c.Expected = fitTerms(list, max(1, squares/max(1, events)), func(a *Asked, z float64) (g, h float64) {
		mean := math.Exp(min(z, 10))
		return mean - a.Events, mean
	}, number)
	return c
}

// seen is the range of a term, but for the hundredth part of the windows at either end.
func seen(list []Asked, x func(a *Asked) float64) (r [2]float32) {
	var all []float64
	for i := range list {
		if list[i].Pair.Probability > 0 {
			all = append(all, x(&list[i]))
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		r = [2]float32{float32(all[len(all)/100]), float32(all[len(all)-1-len(all)/100])}
	}
	return r
}

// fitTerms finds the factors of terms by Newton's method. Loss gives the first and second derivative of the loss of a
// window, at the sum of the terms; it counts 1/burst.
func fitTerms(list []Asked, burst float64, loss func(a *Asked, z float64) (g, h float64),
	x func(a *Asked) float64,
) [3]float32 {
	const prior = 10
	rows := make([][3]float64, 0, len(list))
	var used []*Asked
	var mean [3]float64
	sum := 0.0
	for i := range list {
		a := &list[i]
		if a.Pair.Probability > 0 {
			row := terms(x(a), a.Share, a.Later)
			rows, used = append(rows, row), append(used, a)
			sum += a.Weight
			for k := range mean {
				mean[k] += a.Weight * row[k]
			}
		}
	}
	by, from := [3]float64{0, 1, 0}, [3]float64{0, 1, 0}
	if sum == 0 {
		return [3]float32{0, 1, 0}
	}
	mean = [3]float64{0, mean[1] / sum, mean[2] / sum}
	from[0], by[0] = mean[1], mean[1] // of x − mean
	for range 60 {
		var slope [3]float64
		var curve [3][3]float64
		for k := range by {
			slope[k], curve[k][k] = prior*(by[k]-from[k]), prior
		}
		for i, row := range rows {
			z := 0.0
			for k := range row {
				row[k] -= mean[k]
				z += by[k] * row[k]
			}
			g, h := loss(used[i], z)
			w := used[i].Weight / burst
			for k := range row {
				slope[k] += w * g * row[k]
				for l := range row {
					curve[k][l] += w * h * row[k] * row[l]
				}
			}
		}
		step, size := solve(curve, slope), 0.0
		for k := range by {
			by[k] -= max(-0.5, min(0.5, step[k]))
			size = max(size, math.Abs(step[k]))
		}
		by[1] = max(0.1, by[1])
		if size < 1e-9 {
			break
		}
	}
	return [3]float32{float32(by[0] - by[1]*mean[1] - by[2]*mean[2]), float32(by[1]), float32(by[2])}
}

// solve finds x with a·x = b, for a symmetric a that is positive definite.
func solve(a [3][3]float64, b [3]float64) (x [3]float64) {
	for i := range a {
		for j := i + 1; j < len(a); j++ {
			by := a[j][i] / a[i][i]
			for k := range a {
				a[j][k] -= by * a[i][k]
			}
			b[j] -= by * b[i]
		}
	}
	for i := len(a) - 1; i >= 0; i-- {
		x[i] = b[i]
		for k := i + 1; k < len(a); k++ {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}
