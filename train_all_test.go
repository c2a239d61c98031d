package dygmamba_test

import (
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/run"
)

// A warm start on data that have grown takes over the memory too, where all that it knows lies before the training
// events. Otherwise these are learned of from the beginning.
func TestFromWithMemory(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 900, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	o := dygmamba.TrainOptions{Model: "tgn", Dir: t.TempDir(), Threads: 1, Settings: []string{"time_feat_dim=8",
		"node_feat_dim=8", "edge_feat_dim=8", "num_neighbors=3", "batch_size=50", "num_epochs=1"}}
	o.Set = set.First(450)
	if _, err := dygmamba.Train(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Set, o.From = set, o.Dir
	for _, memory := range []bool{false, true} {
		if o.Dir = t.TempDir(); memory {
			o.Limits = eval.Limits{Train: 100, Val: 50, Test: 50, Block: true}
		}
		sum, err := dygmamba.Train(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		record, err := run.Open(run.SeedDir(o.Dir, 0))
		if err != nil || record.Config.From.Memory != memory {
			t.Errorf("began with %+v, want memory: %v (%v)", record.Config.From, memory, err)
		}
		if s := sum.Runs[0].Sampled; memory && (s == nil || s.Empty) {
			t.Errorf("trained on %+v, which should say that the state did not begin empty", s)
		}
	}
}
