package report

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/sample"
)

// Kinds of cases. The first two are the hardest, the others the most confident that were right.
const (
	Missed     = "missed"      // true, and thought unlikely
	FalseAlarm = "false alarm" // not true, and thought likely
	Expected   = "expected"    // true, and thought likely
	Dismissed  = "dismissed"   // not true, and thought unlikely
)

// Case is one answer of the test, and what it rests on.
type Case struct {
	Kind        string  `json:"kind"`
	U           string  `json:"u"`
	I           string  `json:"i"`
	TS          any     `json:"ts"` // a number, or a text where times are dates
	True        bool    `json:"true"`
	Probability float64 `json:"probability"` // as the test measured it
	// meetings of the two until then; events of the source where labels are told
	Before int `json:"before"`

	// Explanation was asked for by itself: where neighbours are picked at random, or rows are as long as the longest
	// of a batch, its probability differs from that of the test.
	Explanation predict.Explanation `json:"explanation"`
}

// curvePoints of a case, before and after its time.
const curvePoints = 56

// choose picks the cases, each pair at most once within its kind.
func (t *test) choose() (cases []Case, chosen []answer) {
	names := t.options.Set.Names
	low := func(a, b answer) int { return cmp.Compare(a.score, b.score) }
	high := func(a, b answer) int { return cmp.Compare(b.score, a.score) }
	for _, k := range []struct {
		kind  string
		right bool
		order func(a, b answer) int
		fits  func(p float64) bool
	}{
		{Missed, true, low, func(p float64) bool { return p < 0.5 }},
		{FalseAlarm, false, high, func(p float64) bool { return p >= 0.5 }},
		{Expected, true, high, func(p float64) bool { return p >= 0.5 }},
		{Dismissed, false, low, func(p float64) bool { return p < 0.5 }},
	} {
		seen := map[[2]event.Node]bool{}
		left := t.options.Cases
		for _, a := range slices.SortedStableFunc(slices.Values(t.answers), k.order) {
			pair := [2]event.Node{a.Src, a.Dst}
			if left == 0 || a.right != k.right || !k.fits(a.probability) || seen[pair] {
				continue
			}
			seen[pair] = true
			left--
			c := Case{Kind: k.kind, U: names.Name(a.Src), I: names.Name(a.Dst), TS: a.Time, True: a.right,
				Probability: a.probability, Before: int(a.seen)}
			if t.options.Set.TimeFormat == dataset.TimeDate {
				c.TS = dataset.FormatTime(a.Time, dataset.TimeDate)
			}
			cases, chosen = append(cases, c), append(chosen, a)
		}
	}
	return cases, chosen
}

// explain asks why. A model that remembers is asked in the middle of the test, where it remembers what it did then.
func (t *test) explain(ctx context.Context) (err error) {
	cases, chosen := t.choose()
	t.report.Cases = cases
	queries := make([]predict.Query, len(chosen))
	for i, a := range chosen {
		queries[i] = a.Query
	}
	memory, remembers := t.predictor.Scorer().(model.StatefulScorer)
	if !remembers || len(cases) == 0 {
		t.predictor.CurvePoints = curvePoints
		why, err := t.predictor.Explain(ctx, queries)
		for i := range why {
			cases[i].Explanation = why[i]
		}
		return err
	}
	t.doing = "explain"
	w := &witness{StatefulScorer: memory, ask: func(batch int) error {
		for i, a := range chosen {
			if int(a.batch) != batch {
				continue
			}
			why, err := t.predictor.ExplainNow(ctx, queries[i:i+1])
			if err != nil {
				return err
			}
			cases[i].Explanation = why[0]
		}
		return nil
	}}
	_, err = t.session.Evaluate(ctx, eval.Contender{Scorer: w}, t.part, t.report.Negatives, nil)
	return err
}

// witness goes through a test once more with a memory, and answers nothing: it only asks why at the right moments.
type witness struct {
	model.StatefulScorer
	ask   func(batch int) error
	batch int
}

// Score is called once for every batch, when everything is remembered that the batch may know.
func (w *witness) Score(b *sample.Batch, out []float32) error {
	clear(out)
	w.batch++
	return w.ask(w.batch - 1)
}

// moved says whether asking by itself gave another answer than the test.
func (c Case) moved() bool { return math.Abs(c.Explanation.Probability-c.Probability) > 0.0005 }
