package calibration

import (
	"math/rand/v2"
	"testing"
)

// said makes answers of a stream, batch after batch: what is said with a logit of x comes true with one of
// truth(x, how much of the stream is over).
func said(batches int, truth func(x, over float64) float64) (a Answers) {
	rng := rand.New(rand.NewPCG(3, 4))
	var none *Map
	for b := range batches {
		var logits []float32
		var happened []bool
		for range 100 {
			x := 3 * rng.NormFloat64()
			logits = append(logits, float32(x))
			chance := none.Probability(float32(truth(x, float64(b)/float64(batches))))
			happened = append(happened, rng.Float64() < chance)
		}
		a.Add(b, logits, happened)
	}
	return a
}

// Where a stream changes, its latest answers tell most of what comes next; where it does not, all of them do.
func TestFitToTheLatest(t *testing.T) {
	for _, c := range []struct {
		name        string
		truth       func(x, over float64) float64
		least, most float64 // part of the answers of the first half
		ece         float64 // on the second half
	}{
		{"steady", func(x, _ float64) float64 { return x / 2 }, 1, 1, 0.012},
		{"changes", func(x, over float64) float64 { return x/2 + 8*min(over, 0.5) }, 0.125, 0.25, 0.03},
	} {
		all := said(400, c.truth)
		half := len(all.Logits) / 2
		early := Answers{Logits: all.Logits[:half], Happened: all.Happened[:half], batches: all.batches[:200]}
		m, whole := early.Fit(), Fit(early.Logits, early.Happened)
		var latest, everything Tally
		for i, x := range all.Logits[half:] {
			latest.Add(m.Probability(x), all.Happened[half+i])
			everything.Add(whole.Probability(x), all.Happened[half+i])
		}
		got, part := latest.Reliability().ECE, float64(m.Answers)/float64(half)
		t.Logf("%s: fitted to %.3f of the answers, error %.4f, to all of them %.4f",
			c.name, part, got, everything.Reliability().ECE)
		if part < c.least || part > c.most || got > c.ece {
			t.Errorf("%s: want a part from %v to %v and an error of at most %v", c.name, c.least, c.most, c.ece)
		}
	}
}

// Few answers are all taken, too few or none give no map, and the first batch begins anew.
func TestFitToFewAnswers(t *testing.T) {
	even := func(x, _ float64) float64 { return x }
	var none Answers
	few, enough := said(fewest/100-1, even), said(fewest/100, even)
	if none.Fit() != nil || few.Fit() != nil {
		t.Error("fitted to too few answers")
	}
	if m := enough.Fit(); m == nil || m.Answers != fewest {
		t.Errorf("%d answers give %v", fewest, m)
	}
	enough.Add(0, enough.Logits[:100], enough.Happened[:100])
	if len(enough.Logits) != 100 || enough.Fit() != nil {
		t.Errorf("%d answers after a first batch of 100", len(enough.Logits))
	}
}
