package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run is calibrated in place: what predict tells changes, what it ranks by does not; eval plots how reliable it is,
// and measures when as well as who.
func TestCalibrate(t *testing.T) {
	dir := t.TempDir()
	data, run := filepath.Join(dir, "habits.dgm"), filepath.Join(dir, "run")
	program(t, "data", "synth", "habits", "--out", data).want(t, exitDone)
	program(t, "train", "--data", data, "--model", "graphmixer", "--set", "calibrate=false", "--set", "num_epochs=1",
		"--set", "num_neighbors=4", "--set", "time_feat_dim=8", "--set", "node_feat_dim=8", "--set", "edge_feat_dim=8",
		"--set", "time_gap=30", "--set", "num_layers=1", "--set", "negatives_time=0.3", "--out", run,
		"--device", "cpu").
		want(t, exitDone)
	ask := []string{"predict", "--run", run, "--data", data, "--u", "u1", "--i", "v2", "--ts", "12000000",
		"--device", "cpu", "--json"}
	before := decode[predictDoc](t, program(t, ask...).want(t, exitDone)).Results[0]
	told := program(t, "calibrate", run, "--data", data, "--device", "cpu", "--json").want(t, exitDone)
	doc := decode[calibrateDoc](t, told)
	after := decode[predictDoc](t, program(t, ask...).want(t, exitDone)).Results[0]
	if len(doc.Runs) != 1 || doc.Runs[0].Validation.After >= doc.Runs[0].Validation.Before || doc.Runs[0].Knots < 2 {
		t.Errorf("got %+v", doc)
	}
	if before.Logit != after.Logit || before.Probability == after.Probability {
		t.Errorf("was %+v, is %+v", before, after)
	}
	out := filepath.Join(dir, "measured")
	when := decode[evalDoc](t, program(t, "eval", "--run", run, "--data", data, "--device", "cpu",
		"--negatives", "time", "--setting", "transductive", "--out", out, "--json").want(t, exitDone))
	if r := when.Results; len(r) != 1 || r[0].Negatives != "time" || r[0].Moments == 0 || r[0].ECE == nil ||
		!(r[0].AP > 0.3) {
		t.Errorf("got %+v", when.Results)
	}
	plot, err := os.ReadFile(filepath.Join(out, reliabilityFile))
	if err != nil || !strings.Contains(string(plot), "time negatives") {
		t.Errorf("no plot: %v", err)
	}
	program(t, "calibrate", run, "--data", "s3").want(t, exitBadInput, "not those that")
	program(t, "eval", "--model", "edgebank", "--data", data, "--negatives", "time").want(t, exitUsage,
		"need the strict order")
	program(t, "eval", "--model", "edgebank", "--data", data, "--negatives", "time", "--order", "strict").
		want(t, exitDone)
}
