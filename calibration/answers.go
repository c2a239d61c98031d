package calibration

import "math"

// Answers are what a model said of the batches of a validation, in the order of time. The zero value has none.
type Answers struct {
	Logits   []float32
	Happened []bool
	batches  []int // where each begins
}

// Add takes the answers of a batch. The first one, number 0, begins anew.
func (a *Answers) Add(batch int, logits []float32, happened []bool) {
	if batch == 0 {
		a.Logits, a.Happened, a.batches = a.Logits[:0], a.Happened[:0], a.batches[:0]
	}
	a.batches = append(a.batches, len(a.Logits))
	a.Logits, a.Happened = append(a.Logits, logits...), append(a.Happened, happened...)
}

// windows are parts of the answers, the latest ones, that a map may be fitted to.
var windows = []float64{1, 1. / 2, 1. / 4, 1. / 8}

// Fit fits a map to the latest answers. A stream changes, and what is asked tomorrow is more like what was asked
// yesterday than like what was asked long ago; but few answers tell little. So how many to take is tried out on the
// answers themselves: maps of each window that ends at the half, and at three quarters of them, are held against
// what came behind, and the one with the smallest loss is chosen. It is nil where Fit is.
func (a *Answers) Fit() *Map {
	best, least := windows[0], math.Inf(1)
	for _, w := range windows {
		if loss := (a.ahead(w, 1./2) + a.ahead(w, 3./4)) / 2; loss < least {
			best, least = w, loss
		}
	}
	return a.fit(best, len(a.batches))
}

// ahead is the mean loss of what lies behind a part of the answers, with a map of a window that ends there.
func (a *Answers) ahead(window, part float64) float64 {
	end := int(part * float64(len(a.batches)))
	m := a.fit(window, end)
	if m == nil {
		return math.Inf(1)
	}
	sum, from := 0.0, a.batches[end]
	for i, x := range a.Logits[from:] {
		y := m.Logit(float64(x))
		if !a.Happened[from+i] {
			y = -y
		}
		sum += max(0, -y) + math.Log1p(math.Exp(-math.Abs(y))) // −log of the probability of what came true
	}
	return sum / float64(len(a.Logits)-from)
}

// fit fits to the last part of the batches before one.
func (a *Answers) fit(window float64, end int) *Map {
	if end == 0 {
		return nil
	}
	lo, hi := a.batches[int((1-window)*float64(end))], len(a.Logits)
	if end < len(a.batches) {
		hi = a.batches[end]
	}
	return Fit(a.Logits[lo:hi], a.Happened[lo:hi])
}
