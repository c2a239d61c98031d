package audit

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/golden"
)

// What knowing who was lately active is worth on published data, test AP in percent against random, historical and
// inductive negatives: docs/TRUST.md has the figures.
func TestLatelyActiveOnPublishedData(t *testing.T) {
	for data, want := range map[string]struct{ lately, strangers [3]float64 }{
		"uci":     {[3]float64{81.96, 96.01, 88.55}, [3]float64{41.67, 98.20, 92.28}},
		"enron":   {[3]float64{73.33, 84.15, 78.74}, [3]float64{38.02, 87.17, 69.19}},
		"mooc":    {[3]float64{65.65, 97.61, 94.19}, [3]float64{47.55, 98.75, 97.07}},
		"CanParl": {[3]float64{67.67, 79.44, 72.29}, [3]float64{61.75, 90.78, 71.25}},
		"USLegis": {[3]float64{61.98, 73.40, 75.05}, [3]float64{53.52, 88.17, 59.18}},
	} {
		set, err := dataset.Open(t.Context(), data, dataset.Options{DataDir: golden.Shared(t, "data")})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		split, err := dataset.NewSplit(set.Log, dataset.SplitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		protocol, past := eval.NewProtocol(split, eval.Options{}), index.Freeze(split.Full)
		for i, kind := range eval.Strategies() {
			questions, _, err := draw(protocol, eval.Test, kind, eval.BatchSize)
			if err != nil {
				t.Fatal(err)
			}
			lately := latelyActive(questions, past, set.Log.At(0).Time)
			first, _ := batchMean(lately)
			second, _ := batchMean(strangersFirst(lately, edgeBank(questions, set.Log)))
			t.Logf("%s, %s negatives: AP %.2f, strangers first %.2f", data, kind, 100*first, 100*second)
			if math.Abs(100*first-want.lately[i]) > 0.01 || math.Abs(100*second-want.strangers[i]) > 0.01 {
				t.Errorf("%s, %s negatives: AP %.2f and %.2f, want %.2f and %.2f",
					data, kind, 100*first, 100*second, want.lately[i], want.strangers[i])
			}
		}
	}
}
