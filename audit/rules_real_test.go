package audit

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/protocol"
)

// What rules that learn nothing are worth on published data, test AP in percent against random, historical and
// inductive negatives: the documents have the figures.
func TestRulesOnPublishedData(t *testing.T) {
	var recorded struct {
		Rules []string
		AP    map[string][][]float64
	}
	raw, err := os.ReadFile("testdata/rules.json")
	if err == nil {
		err = json.Unmarshal(raw, &recorded)
	}
	if err != nil || len(recorded.AP) == 0 {
		t.Fatal(err)
	}
	for data, want := range recorded.AP {
		set, err := dataset.Open(t.Context(), data, dataset.Options{DataDir: golden.Shared(t, "data")})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		split, err := dataset.NewSplit(set.Log, dataset.SplitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		proto, past := eval.NewProtocol(split, eval.Options{}), index.Freeze(split.Full)
		for i, kind := range protocol.Published() {
			questions, _, err := draw(proto, eval.Test, kind, eval.BatchSize)
			if err != nil {
				t.Fatal(err)
			}
			recent := recentActivity(questions, past, set.Log.At(0).Time)
			for k, found := range [][]scored{
				recent, unmetFirst(questions, recent, edgeBank(questions, set.Log)), nextItem(questions, set.Log),
			} {
				ap, _ := batchMean(found)
				if rule := recorded.Rules[k]; math.Abs(100*ap-want[k][i]) > 0.01 {
					t.Errorf("%s, %s negatives: %s: AP %.2f, want %.2f", data, kind, rule, 100*ap, want[k][i])
				}
			}
		}
	}
}
