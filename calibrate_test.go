package dygmamba_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// A run that was trained without a calibration gets the one it would have had; that of a memory is about one that goes
// through the training events with the weights as they are, as in prediction. What it ranks, and what its record says,
// stays.
func TestCalibrateAfterwards(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 4000, Sources: 6, Targets: 6})
	if err != nil {
		t.Fatal(err)
	}
	small := []string{"num_epochs=1", "batch_size=200", "learning_rate=0.002", "node_feat_dim=8", "edge_feat_dim=8",
		"time_feat_dim=8", "num_neighbors=4"}
	for name, settings := range map[string][]string{
		"graphmixer": append([]string{"time_gap=20"}, small...), "jodie": small[:len(small)-1],
	} {
		dirs := map[string]string{"true": t.TempDir(), "false": t.TempDir()}
		for on, dir := range dirs {
			o := dygmamba.TrainOptions{Set: set, Model: name, Dir: dir,
				Order:    map[string]protocol.Order{"jodie": protocol.Strict}[name],
				Settings: append([]string{"calibrate=" + on}, settings...)}
			if _, err := dygmamba.Train(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		dir := run.SeedDir(dirs["false"], 0)
		before := load(t, dir, predict.Options{Set: set})
		if before.Calibration() != nil || before.Probability(0) != 0.5 {
			t.Fatalf("%s: calibrated without being asked", name)
		}
		got, err := predict.Calibrate(t.Context(), dir, predict.Options{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		after := load(t, dir, predict.Options{Set: set})
		by := load(t, run.SeedDir(dirs["true"], 0), predict.Options{Set: set})
		same := by.Calibration() != nil && by.Calibration().String() == after.Calibration().String()
		if by.Calibration() == nil || !same && name == "graphmixer" {
			t.Errorf("%s: fitted in training %v, afterwards %v", name, by.Calibration(), after.Calibration())
		}
		t.Logf("%s: %+v", name, got)
		if got.Validation.After > got.Validation.Before+0.005 || got.Answers < 1000 {
			t.Errorf("%s: %+v", name, got)
		}
		measured, err := dygmamba.Evaluate(t.Context(), dir, dygmamba.EvaluateOptions{
			LoadOptions: predict.Options{Set: set},
			Strategies:  []protocol.Negatives{"random"}, Scenarios: []protocol.Scenario{"transductive"},
		})
		if err != nil {
			t.Fatal(err)
		}
		noted, err := run.ReadResult(dir)
		if err != nil || noted.Results[0].AP != measured[0].AP || math.Abs(*measured[0].ECE-got.Test.After) > 1e-9 ||
			*noted.Results[0].ECE == *measured[0].ECE {
			t.Errorf("%s: noted %+v, measured %+v, %v", name, noted.Results[0], measured[0], err)
		}
		sum, err := os.ReadFile(filepath.Join(dirs["false"], run.ResultFile))
		if err != nil || !bytes.Contains(sum, []byte(noted.Checkpoint)) {
			t.Errorf("%s: the summary does not know the checkpoint, %v", name, err)
		}
	}
}
