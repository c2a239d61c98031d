package audit

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/internal/results"
)

// What knowing who was lately active is worth on published data, test AP in percent against random, historical and
// inductive negatives: the documents have the figures.
func TestLatelyActiveOnPublishedData(t *testing.T) {
	for data, want := range results.Clocks {
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
			if math.Abs(100*first-want[0][i]) > 0.01 || math.Abs(100*second-want[1][i]) > 0.01 {
				t.Errorf("%s, %s negatives: AP %.2f and %.2f, want %.2f and %.2f",
					data, kind, 100*first, 100*second, want[0][i], want[1][i])
			}
		}
	}
}
