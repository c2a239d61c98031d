package dygmamba_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// unsteady trains with steps that are too large, so that AP and AUC of epochs disagree.
func unsteady(t *testing.T, dir, preset string, change func(o *dygmamba.TrainOptions)) run.Summary {
	t.Helper()
	o := dygmamba.TrainOptions{Set: launch(t).set, Dir: dir, Preset: preset, Seeds: []uint64{0, 1}}
	o.Settings = append(slices.Clone(narrow), "num_epochs=16", "patience=16", "learning_rate=0.003", "dropout=0.5")
	if change != nil {
		change(&o)
	}
	summary, err := dygmamba.Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

// The best epoch is the one with the best AP on the validation events. Presets that do as published programs did want
// AP and AUC of at least the best so far.
func TestChoiceOfEpoch(t *testing.T) {
	disagreed := false
	for preset, byAP := range map[string]bool{"steady": true, "released": false} {
		dir := t.TempDir()
		for _, r := range unsteady(t, dir, preset, nil).Runs {
			best, both := 0, 0
			for i, e := range r.History {
				if e.Val.AP >= r.History[best].Val.AP {
					best = i
				}
				if e.Val.AP >= r.History[both].Val.AP && e.Val.AUC >= r.History[both].Val.AUC {
					both = i
				}
			}
			disagreed = disagreed || best != both
			want := both
			if byAP {
				want = best
			}
			if r.BestEpoch != want+1 {
				t.Errorf("%s, seed %d: epoch %d was chosen, want %d", preset, r.Seed, r.BestEpoch, want+1)
			}
			record, err := run.Open(run.SeedDir(dir, r.Seed))
			if err != nil || record.Config.ByAP != byAP {
				t.Errorf("%s: by AP %v is recorded, %v", preset, record.Config.ByAP, err)
			}
		}
	}
	if !disagreed {
		t.Error("AP and AUC agreed on every epoch: this shows nothing")
	}
}

// A run that began with the former rule goes on with it, and so does one more seed beside it.
func TestResumeKeepsRule(t *testing.T) {
	dir := t.TempDir()
	unsteady(t, dir, "steady", func(o *dygmamba.TrainOptions) {
		o.Settings, o.Seeds = append(o.Settings, "num_epochs=1"), []uint64{0}
	})
	file := filepath.Join(run.SeedDir(dir, 0), run.ConfigFile)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(raw), `"by_ap": true`, `"by_ap": false`, 1)
	if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	last := filepath.Join(run.SeedDir(dir, 0), run.LastFile)
	state, err := checkpoint.Load(last)
	if err != nil {
		t.Fatal(err)
	}
	state.Meta["train"] = strings.Replace(state.Meta["train"], `"by_ap":true`, `"by_ap":false`, 1)
	if err := checkpoint.Save(last, state); err != nil {
		t.Fatal(err)
	}
	summary := unsteady(t, dir, "steady", func(o *dygmamba.TrainOptions) { o.Resume = true })
	for _, r := range summary.Runs {
		record, err := run.Open(run.SeedDir(dir, r.Seed))
		if err != nil || record.Config.ByAP {
			t.Errorf("seed %d goes on by AP alone: %v", r.Seed, err)
		}
		best := 0
		for i, e := range r.History {
			if b := r.History[best].Val; e.Val.AP >= b.AP && e.Val.AUC >= b.AUC {
				best = i
			}
		}
		if r.BestEpoch != best+1 {
			t.Errorf("seed %d: epoch %d was chosen, want %d", r.Seed, r.BestEpoch, best+1)
		}
	}
}

// A training with several seeds is loaded as the seed that is the best by validation, and says which that is.
func TestLoadBestSeed(t *testing.T) {
	dir := t.TempDir()
	summary := unsteady(t, dir, "steady", func(o *dygmamba.TrainOptions) {
		o.Settings = append(slices.Clone(narrow), "num_epochs=2")
		o.Seeds = []uint64{0, 1, 2}
	})
	best := 0
	for i, r := range summary.Runs {
		if r.Val.AP > summary.Runs[best].Val.AP {
			best = i
		}
	}
	chosen := load(t, dir, predict.Options{Set: launch(t).set})
	one := load(t, run.SeedDir(dir, summary.Seeds[best]), predict.Options{Set: launch(t).set})
	qs := questions(launch(t).set)
	if !slices.Equal(score(t, chosen, qs), score(t, one, qs)) {
		t.Error("the answers are not those of the best seed")
	}
}
