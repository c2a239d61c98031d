package synth

import (
	"math"
	"testing"
)

// As many events happen as the process leads one to expect, by day more often than by night, and destinations carry the
// bits of their probabilities.
func TestHawkes(t *testing.T) {
	s, truth, err := Hawkes(HawkesOptions{Days: 60})
	if err != nil {
		t.Fatal(err)
	}
	o, all := truth.HawkesOptions, s.Log.All()
	want := float64(o.Sources*o.Days) * o.PerDay / (1 - o.Branching)
	if n := float64(all.Len()); math.Abs(n/want-1) > 0.05 {
		t.Errorf("%v events, want about %v", n, want)
	}
	near := 0
	for i, at := range all.Time {
		if math.Cos(2*math.Pi*(at/day-truth.Phase[all.Src[i]-1])) > 0 {
			near++
		}
	}
	if share := float64(near) / float64(all.Len()); share < 0.7 || share > 0.85 {
		t.Errorf("%v of the events are in a source's own half of the day", share)
	}
	bits, nats := truth.Bits(all)
	mean, entropy, last := 0.0, 0.0, map[int]int{}
	for i, b := range bits {
		mean += b / float64(len(bits))
		u := int(all.Src[i]) - 1
		for v, p := range truth.Share[u] { // of what could have happened
			if l, ok := last[u]; ok {
				if p *= 1 - truth.Repeat; l == v {
					p += truth.Repeat
				}
			}
			entropy -= p * math.Log2(p) / float64(len(bits))
		}
		last[u] = int(all.Dst[i]) - 1 - truth.Sources
		if math.IsNaN(nats[i]) {
			t.Fatal("an event without a rate")
		}
	}
	if math.Abs(mean-entropy) > 0.05 {
		t.Errorf("%v bits per event, the entropy is %v", mean, entropy)
	}
	again, _, _ := Hawkes(HawkesOptions{Days: 60})
	if again.Hash() != s.Hash() {
		t.Error("the same seed makes another stream")
	}
	if _, _, err := Hawkes(HawkesOptions{Branching: 1.5}); err == nil {
		t.Error("a process that explodes is made")
	}
}
