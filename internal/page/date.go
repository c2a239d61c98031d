package page

import (
	"math"
	"time"
)

// longest is the longest span of dates, in seconds, that is cut at dates: ten thousand years.
const longest = 10_000 * 366 * 86400

// steps are those from one date to the next within a day or a few, in seconds.
var steps = []float64{1, 2, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86400,
	2 * 86400, 7 * 86400}

// monthSteps are longer ones, in months.
var monthSteps = []int{1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000}

// dates are round ones, about this many.
func (a Axis) dates(about int) []float64 {
	span := a.Max - a.Min
	for _, step := range steps {
		if span/step <= float64(about) {
			var list []float64
			for v := math.Ceil(a.Min/step) * step; v <= a.Max; v += step {
				list = append(list, v)
			}
			return list
		}
	}
	const month = 30.44 * 86400
	for _, step := range monthSteps {
		if span/month/float64(step) <= float64(about) || step == monthSteps[len(monthSteps)-1] {
			return a.months(step)
		}
	}
	return nil
}

// months are the first days of every this many months.
func (a Axis) months(step int) []float64 {
	first := time.Unix(int64(math.Floor(a.Min)), 0).UTC()
	count := first.Year()*12 + int(first.Month()) - 1
	count -= (count%step + step) % step
	var list []float64
	for ; ; count += step {
		v := float64(time.Date(0, time.Month(1+count), 1, 0, 0, 0, 0, time.UTC).Unix())
		if v > a.Max {
			return list
		}
		if v >= a.Min {
			list = append(list, v)
		}
	}
}

// dateLabel writes as much of a date as tells the ticks of an axis apart.
func dateLabel(v float64, all []float64) string {
	step := math.Inf(1)
	for i := 1; i < len(all); i++ {
		step = min(step, all[i]-all[i-1])
	}
	layout := "2006-01-02"
	switch {
	case step < 60:
		layout = "15:04:05"
	case step < 86400:
		layout = "01-02 15:04"
	case step >= 365*86400 && !math.IsInf(step, 1):
		layout = "2006"
	case step >= 28*86400 && !math.IsInf(step, 1):
		layout = "2006-01"
	}
	whole := math.Floor(v)
	if math.Abs(whole) > longest {
		return "–"
	}
	return time.Unix(int64(whole), 0).UTC().Format(layout)
}
