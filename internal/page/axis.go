package page

import (
	"math"
	"strconv"
	"strings"
)

// Axis is a range of values. Percent shows fractions as percentages.
type Axis struct {
	Name     string
	Min, Max float64
	Percent  bool
}

// ticks are round values of the axis, about so many.
func (a Axis) ticks(about int) []float64 {
	span := a.Max - a.Min
	if !(span > 0) || math.IsInf(span, 0) {
		return []float64{a.Min}
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(about))))
	for _, k := range []float64{2, 2.5, 2} { // 1, 2, 5, 10 times a power of ten
		if span/step <= float64(about) {
			break
		}
		step *= k
	}
	var list []float64
	for k := math.Ceil(a.Min/step - 1e-9); k*step <= a.Max+1e-9*span; k++ {
		list = append(list, k*step)
	}
	return list
}

// label writes a tick's value; all of an axis have as many places.
func (a Axis) label(v float64, all []float64) string {
	unit := ""
	scale := 1.0
	if a.Percent {
		scale, unit = 100, " %"
	}
	step := math.Inf(1)
	for i := 1; i < len(all); i++ {
		step = min(step, (all[i]-all[i-1])*scale)
	}
	places := 0
	for p := 1.0; places < 6 && !math.IsInf(step, 1) && math.Abs(math.Round(step*p)-step*p) > 1e-6*step*p; p *= 10 {
		places++
	}
	text := strconv.FormatFloat(v*scale, 'f', places, 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return text + unit
}

// at is where a value lies between two pixels.
func (a Axis) at(v, from, to float64) float64 {
	if !(a.Max > a.Min) {
		return (from + to) / 2
	}
	return from + (v-a.Min)/(a.Max-a.Min)*(to-from)
}

// textWidth guesses how wide a text is at 12 pixels.
func textWidth(s string) float64 { return 7.3 * float64(len([]rune(s))) }
