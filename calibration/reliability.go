package calibration

import "math"

// Bins is how many Reliability has: equal ones from 0 to 1.
const Bins = 15

// Reliability compares probabilities with what came true.
type Reliability struct {
	// expected calibration error: mean distance of the two, weighted by how many answers a bin has
	ECE   float64 `json:"ece"`
	Brier float64 `json:"brier"` // mean square of how far answers are from the truth
	Bins  []Bin   `json:"bins"`
}

// Bin is the answers with about the same probability.
type Bin struct {
	From    float64 `json:"from"`
	To      float64 `json:"to"`
	Answers int     `json:"answers"`
	Said    float64 `json:"said"` // mean probability
	True    float64 `json:"true"` // share that came true
}

// Tally counts answers.
type Tally struct {
	bins    [Bins]Bin
	square  float64
	answers int
}

// Add counts an answer.
func (t *Tally) Add(probability float64, happened bool) {
	truth := 0.0
	if happened {
		truth = 1
	}
	b := &t.bins[min(Bins-1, max(0, int(probability*Bins)))]
	b.Answers++
	b.Said += probability
	b.True += truth
	t.square += (probability - truth) * (probability - truth)
	t.answers++
}

// Reliability is what the answers so far say.
func (t *Tally) Reliability() Reliability {
	n := float64(max(1, t.answers))
	r := Reliability{Bins: append([]Bin{}, t.bins[:]...), Brier: t.square / n}
	for i := range r.Bins {
		b := &r.Bins[i]
		b.From, b.To = float64(i)/Bins, float64(i+1)/Bins
		if b.Answers > 0 {
			r.ECE += math.Abs(b.Said-b.True) / n
			b.Said /= float64(b.Answers)
			b.True /= float64(b.Answers)
		}
	}
	return r
}
