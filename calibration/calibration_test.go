package calibration

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// crooked draws answers of a model that exaggerates: what it says with a logit of x is true with one of truth(x).
func crooked(n int, truth func(x float64) float64) (logits []float32, happened []bool) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		x := 4 * rng.NormFloat64()
		logits = append(logits, float32(x))
		happened = append(happened, rng.Float64() < 1/(1+math.Exp(-truth(x))))
	}
	return logits, happened
}

// What was fitted on some answers holds for others of the same kind.
func TestFitIsReliable(t *testing.T) {
	for name, truth := range map[string]func(float64) float64{
		"right":       func(x float64) float64 { return x },
		"exaggerates": func(x float64) float64 { return x / 3 },
		"shifted":     func(x float64) float64 { return x + 2 },
		"bent":        func(x float64) float64 { return math.Cbrt(x) },
		"one-sided":   func(x float64) float64 { return max(x/4, x) },
	} {
		logits, happened := crooked(16_000, truth)
		m := Fit(logits[:8000], happened[:8000])
		var before, after Tally
		for i := 8000; i < len(logits); i++ {
			before.Add((*Map)(nil).Probability(logits[i]), happened[i])
			after.Add(m.Probability(logits[i]), happened[i])
		}
		t.Logf("%s: %.4f before, %.4f after, %d knots",
			name, before.Reliability().ECE, after.Reliability().ECE, len(m.From))
		if got := after.Reliability().ECE; got > 0.02 {
			t.Errorf("%s: an error of %.4f, want below 0.02", name, got)
		}
	}
}

// Whatever answers it was fitted on, a map grows, and what is read back is the same.
func TestFitGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(980, 1500).Draw(t, "answers")
		value := rapid.OneOf(rapid.Float32Range(-30, 30), rapid.SampledFrom([]float32{-1, 0, 1, 70, 1e30, -1e30}))
		logits := rapid.SliceOfN(value, n, n).Draw(t, "logits")
		happened := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "happened")
		m := Fit(logits, happened)
		if m == nil {
			return
		}
		back, err := Parse(m.String())
		if err != nil {
			t.Fatal(err)
		}
		a := rapid.Float64Range(-100, 100).Draw(t, "a")
		b := a + rapid.Float64Range(1e-3, 10).Draw(t, "more")
		if x, y := back.Logit(a), back.Logit(b); !(y > x) {
			t.Fatalf("%v becomes %v and %v becomes %v", a, x, b, y)
		}
		if m.Logit(a) != back.Logit(a) {
			t.Fatal("what is read back is another map")
		}
	})
}

func TestFitNeedsAnswers(t *testing.T) {
	logits, happened := crooked(fewest, func(x float64) float64 { return x })
	if Fit(logits, happened) == nil || Fit(logits[1:], happened[1:]) != nil ||
		Fit(logits, make([]bool, fewest)) != nil {
		t.Error("fitted on too few answers or on one kind, or not on enough")
	}
	logits[3] = float32(math.NaN())
	if Fit(logits, happened) != nil {
		t.Error("fitted on NaN")
	}
	for _, text := range []string{
		"{", "{}", `{"from":[1],"to":[]}`, `{"from":[1,1],"to":[1,2]}`, `{"from":[1,2],"to":[2,2]}`,
	} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s was read", text)
		}
	}
	var none *Map
	if m, err := Parse(none.String()); m != nil || err != nil || none.Probability(0) != 0.5 {
		t.Error("no map is no map")
	}
}

func TestReliability(t *testing.T) {
	var all, two Tally
	for i := range 100 {
		all.Add(0.25, i < 50)
		all.Add(0.95, true)
	}
	r := all.Reliability()
	if want := (0.25 + 0.05) / 2; math.Abs(r.ECE-want) > 1e-6 || r.Bins[3].Answers != 100 || r.Bins[3].True != 0.5 ||
		r.Bins[14].True != 1 || len(r.Bins) != Bins {
		t.Errorf("%+v, want an error of %v", r, want)
	}
	if want := (0.5*0.25*0.25 + 0.5*0.75*0.75 + 0.05*0.05) / 2; math.Abs(r.Brier-want) > 1e-6 {
		t.Errorf("Brier score %v, want %v", r.Brier, want)
	}
	two.Add(1, true)
	two.Add(0, false)
	if r := two.Reliability(); r.ECE != 0 || r.Bins[Bins-1].Answers != 1 || r.Bins[0].Answers != 1 {
		t.Errorf("%+v", r)
	}
}
