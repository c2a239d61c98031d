package dygmamba_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/run"
)

// brief trains for a moment.
func brief(t *testing.T, dir string, seed uint64, change func(o *dygmamba.TrainOptions)) (run.Summary, error) {
	t.Helper()
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 300, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	o := dygmamba.TrainOptions{Set: set, Device: newCPU(t), Dir: dir, Seeds: []uint64{seed},
		Settings: append(slices.Clone(narrow), "num_epochs=1")}
	if change != nil {
		change(&o)
	}
	return dygmamba.Train(t.Context(), o)
}

func summaryIn(t *testing.T, dir string) (s run.Summary) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, run.ResultFile))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// One more seed is summed up with those before it; what is no seed of the same training is refused before anything is
// written.
func TestSeedsOfOneTraining(t *testing.T) {
	dir := t.TempDir()
	for _, seed := range []uint64{3, 1} {
		if _, err := brief(t, dir, seed, nil); err != nil {
			t.Fatal(err)
		}
	}
	sum := summaryIn(t, dir)
	if !slices.Equal(sum.Seeds, []uint64{1, 3}) || len(sum.Runs) != 2 || sum.Results[0].Runs != 2 ||
		sum.Runs[1].Seed != 3 {
		t.Errorf("summed up: seeds %v, %d runs", sum.Seeds, len(sum.Runs))
	}
	other, err := dataset.Periodic(dataset.PeriodicOptions{Events: 300, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		want   string
		seed   uint64
		change func(o *dygmamba.TrainOptions)
	}{
		{"seed-1 is not of the same training (model dygmamba and dygmamba-a)", 5,
			func(o *dygmamba.TrainOptions) { o.Model = "dygmamba-a" }},
		{"data called periodic that are not the same", 5, func(o *dygmamba.TrainOptions) { o.Set = other }},
		{"data periodic and other", 5, func(o *dygmamba.TrainOptions) { o.Set.Name = "other" }},
		{"(dropout 0.1 and 0.4)", 5, func(o *dygmamba.TrainOptions) { o.Settings = append(o.Settings, "dropout=0.4") }},
		{"seed-1 holds a training already", 1, nil},
		{"dropout was 0.1 and is now 0.4", 1, func(o *dygmamba.TrainOptions) {
			o.Resume, o.Settings = true, append(o.Settings, "dropout=0.4")
		}},
		{"seed-3 holds a training already", 2, func(o *dygmamba.TrainOptions) { o.Seeds = []uint64{2, 3} }},
	}
	for _, tt := range tests {
		if _, err := brief(t, dir, tt.seed, tt.change); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	if seeds := run.Seeds(dir); !slices.Equal(seeds, []uint64{1, 3}) {
		t.Errorf("what was refused left seeds %v", seeds)
	}
	if _, err := brief(t, dir, 7, func(o *dygmamba.TrainOptions) {
		o.Settings = append(o.Settings,
			"num_epochs=2")
	}); err != nil {
		t.Errorf("a seed that may train longer: %v", err)
	}
}

// A result.json that is no summary of this training stays.
func TestUnrelatedResult(t *testing.T) {
	other := `{"model": "dygmamba", "data": "uci", "seeds": [0], "runs": [{}]}`
	for text, want := range map[string]string{
		`{"accuracy": 0.9}`: "is not the summary of a training and would be overwritten",
		`not JSON`:          "is not the summary of a training and would be overwritten",
		other:               "is of dygmamba on uci and would be overwritten",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, run.ResultFile)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := brief(t, dir, 0, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if raw, _ := os.ReadFile(path); string(raw) != text {
			t.Errorf("%s became %s", text, raw)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("left: %v", left)
		}
	}
}

// Checkpoints of different things cannot be measured together, whether their runs or they themselves say what they are.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for seed, model := range []string{"dygmamba", "dygmamba", "dygmamba-a"} {
		root := t.TempDir()
		if _, err := brief(t, root, uint64(seed), func(o *dygmamba.TrainOptions) { o.Model = model }); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(run.SeedDir(root, uint64(seed)), run.SeedDir(dir, uint64(seed))); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(run.SeedDir(dir, uint64(seed)), run.CheckpointFile))
	}
	for range 2 {
		if err := run.CheckSameTraining(files[:2]); err != nil {
			t.Errorf("two seeds: %v", err)
		}
		if err := run.CheckSameTraining(files); err == nil || !strings.Contains(err.Error(),
			"seed-0 and seed-2 are no seeds of one training (model dygmamba and dygmamba-a)") {
			t.Errorf("two models: %v", err)
		}
		for _, file := range files {
			os.Remove(filepath.Join(filepath.Dir(file), run.ConfigFile))
		}
	}
}
