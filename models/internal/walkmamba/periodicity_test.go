package walkmamba

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/sample"
)

// gapsOf is a row of gaps of meetings before t, as sample gives it.
func gapsOf(t float64, met []float64, k int) []float32 {
	row := slices.Repeat([]float32{sample.Never}, k)
	for i := k - 1; i >= 0 && len(met) > 0; i-- {
		last := met[len(met)-1]
		row[i] = float32(t - last)
		t, met = last, met[:len(met)-1]
	}
	return row
}

// Two who meet on workdays at nine: Monday's hour is three days after Friday's, which has not been seen yet, but a
// whole week after Monday's. At noon nothing fits.
func TestPeriodicityKnowsTheHour(t *testing.T) {
	const hour, day, week = 1., 24., 168.
	var met []float64
	for w := range 2 {
		for d := range 5 {
			met = append(met, float64(w)*week+float64(d)*day+9*hour)
		}
	}
	var r periodicity
	out := make([]float32, 10)
	for _, c := range []struct{ at, off float64 }{{2*week + 9*hour, 0}, {2*week + 12*hour, 3 * hour}} {
		r.read(out, gapsOf(c.at, met, 10), 1)
		for i, x := range out[:5] { // back to the Monday before
			if want := float32(math.Log1p(c.off)); x != want {
				t.Errorf("%v hours, meeting %d: %v, want %v", c.at, i, x, want)
			}
		}
	}
	for meetings, known := range map[int]int{0: 0, 1: 0, 2: 2, 3: 3} {
		r.read(out, gapsOf(1000, met[:meetings], 10), 1)
		for i, x := range out {
			if (x != never) != (i < known) {
				t.Errorf("of %d meetings, number %d has %v", meetings, i, x)
			}
		}
	}
}

// The nearest of all times between two meetings is found, and the unit of time makes no difference.
func TestPeriodicityIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 7).Draw(t, "k")
		gaps := rapid.SliceOfN(rapid.IntRange(1, 50), 1, 9).Draw(t, "gaps")
		var met []float64
		at := 0.0
		for _, gap := range gaps {
			met = append(met, at)
			at += float64(gap)
		}
		var r periodicity
		got, slow := make([]float32, k), make([]float32, k)
		r.read(got, gapsOf(at, met, k), 0.5)
		for i := range met {
			met[i] *= 1024
		}
		r.read(slow, gapsOf(1024*at, met, k), 0.5/1024)
		if !slices.Equal(got, slow) {
			t.Fatalf("%v, in another unit %v", got, slow)
		}
		last := met[max(0, len(met)-k):]
		for i := range k {
			want := math.Inf(1)
			for a := range last {
				for b := range a {
					if i < len(last) {
						off := 1024*at - last[len(last)-1-i] - (last[a] - last[b])
						want = min(want, math.Abs(off)/1024)
					}
				}
			}
			want = min(never, math.Log1p(0.5*want))
			if got[i] != float32(want) {
				t.Fatalf("meeting %d of %v before %v: %v, want %v", i, last, 1024*at, got[i], want)
			}
		}
	})
}
