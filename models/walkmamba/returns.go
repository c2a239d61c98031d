package walkmamba

import (
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/sample"
)

// returns tell whether it is time again. Whoever meets at a rhythm, whatever its period, meets when the time since an
// earlier meeting is one that lay between two meetings before: a day, a week, or what the two are used to. Logarithms
// of times say that badly, as ten minutes are a thousandth of a week; differences of times say it exactly, in any unit,
// and nobody has to know the period.
type returns struct {
	times  []float64 // how long ago the pair's meetings were, ascending
	lapses []float64 // between any two of them, ascending
}

// read fills out from a row of gaps as sample gives it, most recent last: for each of the latest meetings, the latest
// first, the logarithm of how far the time since it is from the nearest time between two of them. It is at most
// never, and that where there is no such meeting, or not two in all.
func (r *returns) read(out, gaps []float32, unit float64) {
	r.times, r.lapses = r.times[:0], r.lapses[:0]
	ago := 0.0
	for _, gap := range slices.Backward(gaps) {
		if gap >= sample.Never {
			break
		}
		ago += float64(gap)
		for _, later := range r.times {
			r.lapses = append(r.lapses, ago-later)
		}
		r.times = append(r.times, ago)
	}
	slices.Sort(r.lapses)
	for i := range out {
		out[i] = never
		if i < len(r.times) && len(r.lapses) > 0 {
			out[i] = float32(min(never, math.Log1p(unit*nearest(r.lapses, r.times[i]))))
		}
	}
}

// nearest is how far x is from the nearest number of an ascending list, which has one.
func nearest(list []float64, x float64) float64 {
	i, _ := slices.BinarySearch(list, x)
	if i == len(list) {
		return x - list[i-1]
	}
	if i == 0 {
		return list[0] - x
	}
	return min(list[i]-x, x-list[i-1])
}
