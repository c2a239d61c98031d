package main

import (
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/run"
)

// A training that begins with a run takes over its model, settings, data and weights, and names it by its hash.
func TestTrainFrom(t *testing.T) {
	first, out := trainedRun(t), filepath.Join(t.TempDir(), "warm")
	program(t, "train", "--from", first.run, "--out", out, "--device", "cpu", "--set", "num_epochs=2",
		"--set", "learning_rate=1e-9").want(t, exitDone)
	record, err := run.Open(run.SeedDir(out, 0))
	if err != nil {
		t.Fatal(err)
	}
	was, err := run.Best(first.run)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := run.Dir(was.Dir()).Hash(run.CheckpointFile)
	if err != nil {
		t.Fatal(err)
	}
	from := record.Config.From
	if from == nil || from.Checkpoint != hash || from.Memory || !run.Exists(record.Path(from.Run)) {
		t.Errorf("began with %+v, want the checkpoint %s", from, hash)
	}
	// the learning rate is next to nothing: the weights are still those of the other run
	a, err1 := checkpoint.Load(was.File)
	b, err2 := checkpoint.Load(filepath.Join(run.SeedDir(out, 0), run.CheckpointFile))
	if err1 != nil || err2 != nil || len(a.Tensors) != len(b.Tensors) {
		t.Fatal(err1, err2)
	}
	for i, x := range a.Tensors {
		for j, v := range x.Data {
			if d := v - b.Tensors[i].Data[j]; d > 1e-4 || d < -1e-4 {
				t.Fatalf("%s has moved by %v: it did not begin with the run's weights", x.Name, d)
			}
		}
	}
	program(t, "train", "--resume", "--out", out, "--device", "cpu", "--set", "num_epochs=3").want(t, exitDone)
	program(t, "train", "--from", first.run, "--model", "tgn", "--preset", "released", "--data", first.data, "--out",
		filepath.Join(t.TempDir(), "other"), "--device", "cpu").want(t, exitUsage)
	program(t, "train", "--from", filepath.Join(out, "nothing"), "--data", first.data).want(t, exitBadInput)
	program(t, "train", "--from", first.run, "--sweep", "dropout=0,0.1", "--out", t.TempDir()).want(t, exitUsage,
		"--from cannot be used with --sweep")
}

// A run that is fitted to all events shows the results of the one that chose its epochs, answers questions, and is
// measured by nobody.
func TestTrainFitAll(t *testing.T) {
	data, out := trainedRun(t).data, filepath.Join(t.TempDir(), "run")
	args := training(data, "--out", out, "--fit", "all", "--set", "num_epochs=2")
	sum := decode[run.Summary](t, program(t, append(args, "--json")...).want(t, exitDone, "on all events"))
	r := sum.Runs[0]
	chosen, err := run.ReadResult(filepath.Join(out, "chosen", "seed-0"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Fit == nil || r.Fit.Epochs != chosen.BestEpoch || r.Fit.Checkpoint != chosen.Checkpoint ||
		r.Epochs != chosen.BestEpoch || r.BestEpoch != chosen.BestEpoch || r.Checkpoint == chosen.Checkpoint {
		t.Errorf("fitted as %+v: %d epochs, chosen were %d", r.Fit, r.Epochs, chosen.BestEpoch)
	}
	if len(r.Results) == 0 || r.Results[0].AP != chosen.Results[0].AP || r.TrainEvents != r.Epochs*r.Fit.Events {
		t.Errorf("%d training events, results %+v", r.TrainEvents, r.Results)
	}
	program(t, "train", "--resume", "--out", out, "--device", "cpu").want(t, exitDone).shows(t, "fitted to all events")
	program(t, "eval", "--run", out, "--device", "cpu").want(t, exitBadInput, "trained on the test events", "chosen")
	program(t, "audit", out, "--device", "cpu").want(t, exitBadInput, "trained on the test events", "chosen")
	program(t, "report", out, "--device", "cpu", "--out", filepath.Join(t.TempDir(), "page.html")).want(t, exitBadInput,
		"trained on the test events")
	program(t, "audit", filepath.Join(out, "chosen"), "--device", "cpu").want(t, exitDone)
	program(t, "predict", "--run", out, "--device", "cpu", "--queries", queryFile(t, "u,i,ts", "1,2,1e6")).want(t,
		exitDone)
	program(t, training(data, "--fit", "some")...).want(t, exitUsage, "must be all")
	program(t, training(data, "--fit", "all")...).want(t, exitUsage, "--fit all needs --out")
	program(t, training(data, "--fit", "all", "--out", out, "--max-time", "1m")...).want(t, exitUsage)
}
