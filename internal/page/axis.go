package page

import (
	"math"
	"strconv"
	"strings"
)

// Axis is a range of values.
type Axis struct {
	Name     string
	Min, Max float64
	Percent  bool      // show fractions as percentages
	Log      bool      // equal factors are equally far apart; Min must be above 0
	Date     bool      // values are seconds since 1970, shown as dates
	Ticks    []float64 // values to show, in order; nil: round ones
}

// Around is an axis with room for all values, from one round value to another.
func Around(list []Series, round float64) Axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range list {
		for _, v := range s.Y {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low > high {
		return Axis{Max: 1}
	}
	low, high = round*math.Floor(low/round+1e-9), round*math.Ceil(high/round-1e-9)
	if high <= low {
		high = low + round
	}
	return Axis{Min: low, Max: high}
}

// InPercent is the axis of shares, which end at 1.
func (a Axis) InPercent() Axis {
	a.Percent, a.Max = true, min(1, a.Max)
	return a
}

// ticks are the values to show, about this many.
func (a Axis) ticks(about int) []float64 {
	switch {
	case a.Ticks != nil:
		return thin(a.Ticks, about)
	case a.Log:
		return a.powers(about)
	case a.Date && a.Max > a.Min && a.Max-a.Min < longest:
		return a.dates(about)
	}
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

// powers are values 1, 2 and 5 times a power of ten, or powers of ten alone where there are enough of them.
func (a Axis) powers(about int) []float64 {
	var all, tens []float64
	for e := math.Floor(math.Log10(a.Min)); e <= math.Log10(a.Max)+1e-9; e++ {
		for _, k := range []float64{1, 2, 5} {
			v := k * math.Pow(10, e)
			if v < a.Min*(1-1e-9) || v > a.Max*(1+1e-9) {
				continue
			}
			all = append(all, v)
			if k == 1 {
				tens = append(tens, v)
			}
		}
	}
	if len(all) > 2*about && len(tens) > 2 {
		return thin(tens, about)
	}
	return all
}

// thin leaves out every second value, the last one staying, until few enough are left.
func thin(values []float64, about int) []float64 {
	for len(values) > max(2, about) {
		var half []float64
		for i := (len(values) - 1) % 2; i < len(values); i += 2 {
			half = append(half, values[i])
		}
		values = half
	}
	return values
}

// label writes a tick's value; all of an axis have as many places, unless it is logarithmic.
func (a Axis) label(v float64, all []float64) string {
	if a.Log {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if a.Date {
		return dateLabel(v, all)
	}
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
	if a.Log {
		return from + math.Log(v/a.Min)/math.Log(a.Max/a.Min)*(to-from)
	}
	return from + (v-a.Min)/(a.Max-a.Min)*(to-from)
}

// textWidth guesses how wide a text is at 12 pixels.
func textWidth(s string) float64 { return 7.3 * float64(len([]rune(s))) }
