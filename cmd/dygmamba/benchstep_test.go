package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/bench"
)

func TestBenchStep(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 5, Targets: 5, Events: 1500})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "small.dgm")
	if err := dataset.Save(path, set); err != nil {
		t.Fatal(err)
	}
	args := []string{"bench", "step", "--data", path, "--device", "cpu", "--batches", "6",
		"--set", "channel_embedding_dim=8", "--set", "time_feat_dim=10", "--set", "max_input_sequence_length=8",
		"--set", "batch_size=20"}
	doc := decode[bench.StepReport](t, program(t, append(args, "--json")...).want(t, exitDone))
	for name, v := range map[string]float64{
		"gather": doc.Gather, "forward": doc.Forward, "backward": doc.Backward, "optimizer": doc.Optimizer,
		"step": doc.Step, "GFLOP": doc.GFLOP, "floor": doc.Floor, "transfer": doc.Transfer, "compute": doc.Compute,
		"epoch": doc.Epoch, "peak": float64(doc.Peak),
	} {
		if !(v > 0) || math.IsInf(v, 0) {
			t.Errorf("%s is %v", name, v)
		}
	}
	if doc.Batches != 6 || doc.BatchSize != 20 || len(doc.Kernels) < 10 {
		t.Errorf("%d batches of %d, %d kernels", doc.Batches, doc.BatchSize, len(doc.Kernels))
	}
	program(t, args...).want(t, exitDone).shows(t, "× the floor of its products", "ScanGrad")
	program(t, "bench", "step", "--data", path, "--batches", "1").
		want(t, exitUsage, "--batches is 1, must be at least 2")
	program(t, "bench").want(t, exitUsage, "bench needs a command")
}
