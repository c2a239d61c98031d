package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/bench"
)

func TestBenchEpoch(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 5, Targets: 5, Events: 1500})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "small.dgm")
	if err := dataset.Save(path, set); err != nil {
		t.Fatal(err)
	}
	args := []string{"bench", "epoch", "--data", path, "--device", "cpu", "--set", "batch_size=20", "--test", "100"}
	small := map[string][]string{
		"walkmamba": {"--set", "channel_embedding_dim=8", "--set", "time_feat_dim=10",
			"--set", "max_input_sequence_length=8", "--set", "walk_dim=4"},
		"tgn": {"--set", "num_neighbors=3", "--set", "node_feat_dim=8", "--set", "edge_feat_dim=8",
			"--set", "time_feat_dim=8"},
	}
	for model, more := range small {
		with := append(append(args[:len(args):len(args)], "--model", model, "--json"), more...)
		doc := decode[bench.EpochReport](t, program(t, with...).want(t, exitDone))
		for name, v := range map[string]float64{"step": doc.Step, "gather": doc.Gather, "rate": doc.Rate,
			"epoch": doc.Epoch, "edges": doc.Edges, "loss": doc.Loss, "start": doc.Start} {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("%s: %s is %v", model, name, v)
			}
		}
		if doc.Events != doc.All/5/20*20 || len(doc.Rates) == 0 || doc.First+doc.Events+100 > doc.All {
			t.Errorf("%s: events %d on, %d of %d, %d rates", model, doc.First, doc.Events, doc.All, len(doc.Rates))
		}
		if r := doc.Tested; r == nil || r.Events != 100 || !(r.AP > 0) || !(r.EdgeBank > 0) {
			t.Errorf("%s: test %+v", model, r)
		}
		if want := map[string]string{"tgn": "strict"}[model]; doc.Order != want {
			t.Errorf("%s: order %q", model, doc.Order)
		}
		with = append(with, "--gather")
		if doc := decode[bench.EpochReport](t, program(t, with...).want(t, exitDone)); doc.Loss != 0 ||
			doc.Tested != nil || !(doc.Edges > 0) {
			t.Errorf("%s, gathering alone: %+v", model, doc)
		}
	}
	program(t, append(args, "--model", "tgn", "--order", "arrival", "--limit", "1ms")...).
		want(t, exitDone).shows(t, "arrival", "edges/s", "EdgeBank")
	program(t, append(args, "--events", "-1")...).want(t, exitUsage, "none may be negative")
	program(t, append(args, "--set", "batch_size=100")...).want(t, exitFailed, "training events, must have 13 batches")
}
