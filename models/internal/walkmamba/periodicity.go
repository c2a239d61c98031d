package walkmamba

import (
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/sample"
)

// periodicity tells whether it is time again. Whoever meets at a rhythm, whatever its period, meets when the time since
// an earlier meeting is one that lay between two meetings before: a day, a week, or what the two are used to.
// Logarithms of times say that badly, as ten minutes are a thousandth of a week; differences of times say it exactly,
// in any unit, and nobody has to know the period.
type periodicity struct {
	ago []float64 // how long ago the pair's meetings were, the latest first
}

// read fills out from a row of gaps as sample gives it, most recent last: for each of the latest meetings, the latest
// first, the logarithm of how far the time since it is from the nearest time between two of them. It is at most
// never, and that where there is no such meeting, or not two in all.
func (r *periodicity) read(out, gaps []float32, unit float64) {
	r.ago = r.ago[:0]
	ago := 0.0
	for _, gap := range slices.Backward(gaps) {
		if gap >= sample.Never {
			break
		}
		ago += float64(gap)
		r.ago = append(r.ago, ago)
	}
	for i := range out {
		out[i] = never
		if i < len(r.ago) {
			out[i] = float32(min(never, math.Log1p(unit*r.off(r.ago[i]))))
		}
	}
}

// off is how far a time is from the nearest time between two meetings, infinitely far where there are no two. For a
// later meeting further back, the one that long before it lies further back too, so one walk over them finds all.
func (r *periodicity) off(time float64) float64 {
	nearest, earlier := math.Inf(1), 0
	for i, later := range r.ago {
		for earlier < len(r.ago)-1 && r.ago[earlier] < later+time {
			earlier++
		}
		for k := max(i+1, earlier-1); k <= earlier; k++ {
			nearest = min(nearest, math.Abs(time-(r.ago[k]-later)))
		}
	}
	return nearest
}
