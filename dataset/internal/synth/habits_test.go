package synth

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/event"
)

// The rates of a routine add up to the visits that were made, at the hours at which they were made.
func TestHabitsFollowTheirRates(t *testing.T) {
	set, r, err := Habits(HabitsOptions{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	expected := 0.0
	const minutes = 5
	for pair := range r.of {
		for at := 0.0; at < float64(r.Weeks)*week; at += 60 * minutes {
			expected += r.Rate(pair[0], pair[1], at) * minutes / 60
		}
	}
	habitual, made := 0, 0
	all := set.Log.All()
	for i, at := range all.Time {
		if r.of[[2]event.Node{all.Src[i], all.Dst[i]}] != nil {
			made++
		}
		if r.Rate(all.Src[i], all.Dst[i], at) > 100*3600*r.noise {
			habitual++
		}
	}
	if math.Abs(expected/float64(made)-1) > 0.03 {
		t.Errorf("%.0f visits were to be expected, %d were made", expected, made)
	}
	if share := float64(habitual) / float64(set.Log.Len()); math.Abs(share-(1-r.Noise)) > 0.01 {
		t.Errorf("%.4f of the visits follow a habit, want about %.4f", share, 1-r.Noise)
	}
	if last := set.Log.At(set.Log.Len() - 1).Time; !set.Log.Sorted() || !set.Bipartite || last > 1<<24 {
		t.Errorf("sorted %v, bipartite %v, to %v", set.Log.Sorted(), set.Bipartite, last)
	}
}

func TestHabitsSeed(t *testing.T) {
	var hashes []string
	for _, seed := range []uint64{1, 1, 2} {
		set, _, err := Habits(HabitsOptions{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, set.Hash())
	}
	if hashes[0] != hashes[1] || hashes[0] == hashes[2] {
		t.Errorf("hashes %.8s %.8s %.8s", hashes[0], hashes[1], hashes[2])
	}
	for _, o := range []HabitsOptions{{People: -1}, {Keep: 2}, {Spread: 5000}, {Noise: 1}, {Drift: math.NaN()}} {
		if _, _, err := Habits(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
