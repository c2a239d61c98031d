package train_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/run"
)

// goOn resumes a training.
func goOn(t *testing.T, dir string, settings ...string) (run.Result, error) {
	t.Helper()
	job := small(t, dir, settings...)
	job.Resume = true
	return job.Train(t.Context())
}

// A finished run can be made longer, and becomes what it would have been; so can its patience. What is done cannot be
// undone.
func TestResumeLonger(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	want, err := small(t, whole).Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small(t, dir, "num_epochs=1").Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := goOn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Epochs != 3 || got.BestEpoch != want.BestEpoch || got.Results[0].AP != want.Results[0].AP {
		t.Errorf("made longer: %d epochs, AP %v; from the beginning: %d, %v",
			got.Epochs, got.Results[0].AP, want.Epochs, want.Results[0].AP)
	}
	if want.BestEpoch > 1 && !bytes.Equal(read(t, whole, run.CheckpointFile), read(t, dir, run.CheckpointFile)) {
		t.Error("a run that was made longer ended with other weights")
	}
	if config := string(read(t, dir, run.ConfigFile)); !strings.Contains(config, `"num_epochs": 3`) {
		t.Errorf("the configuration is still\n%s", config)
	}
	if _, err := goOn(t, dir, "num_epochs=2"); err == nil || !strings.Contains(err.Error(),
		"num_epochs is 2, but 3 epochs are trained already") {
		t.Errorf("fewer epochs than there are: %v", err)
	}
	if _, err := goOn(t, dir, "learning_rate=0.1", "num_epochs=9"); err == nil || strings.Contains(err.Error(),
		"num_epochs") {
		t.Errorf("another learning rate: %v", err)
	}
}

// A directory that lost a file, or has one of another run, is refused and left as it is.
// The test is of the best epoch, also where that is not the last one and the model has gone on.
func TestBestEpochIsTested(t *testing.T) {
	earlier := false
	for _, rate := range []string{"0.001", "0.05", "0.2"} {
		settings := []string{"num_epochs=4", "patience=4", "learning_rate=" + rate}
		kept, err := small(t, t.TempDir(), settings...).Train(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, err := small(t, "", settings...).Train(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if kept.BestEpoch != want.BestEpoch || !reflect.DeepEqual(kept.Results, want.Results) {
			t.Errorf("rate %s: %+v of epoch %d, want %+v of %d", rate, kept.Results, kept.BestEpoch, want.Results,
				want.BestEpoch)
		}
		earlier = earlier || kept.BestEpoch < kept.Epochs
	}
	if !earlier {
		t.Error("the last epoch was always the best")
	}
}

func TestForeignFiles(t *testing.T) {
	whole, other := t.TempDir(), t.TempDir()
	for dir, seed := range map[string]uint64{whole: 1, other: 2} {
		job := small(t, dir, "num_epochs=1")
		job.Seed = seed
		if _, err := job.Train(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	narrower := t.TempDir()
	if _, err := small(t, narrower, "num_epochs=1", "channel_embedding_dim=6").Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := []string{run.ConfigFile, run.LogFile, run.CheckpointFile, run.LastFile, run.ResultFile}
	tests := []struct {
		name   string
		change map[string]string // file to the directory that it comes from; "" removes it, "?" is nonsense
		want   string
	}{
		{"no state", map[string]string{run.LastFile: ""}, "has log.jsonl but no last.safetensors"},
		{"weights alone", map[string]string{run.LastFile: "", run.LogFile: "", run.ResultFile: ""},
			"has checkpoint.safetensors but no last"},
		{"a result alone", map[string]string{run.LastFile: "", run.LogFile: "", run.CheckpointFile: ""},
			"has result.json but no last"},
		{"no best epoch", map[string]string{run.CheckpointFile: ""}, "checkpoint.safetensors is missing"},
		{"another seed", map[string]string{run.LastFile: other},
			"last.safetensors is of seed 2, this run has seed 1"},
		{"another seed's best", map[string]string{run.CheckpointFile: other}, "checkpoint.safetensors is of seed 2"},
		{"other settings", map[string]string{run.LastFile: narrower},
			"of another run than config.json beside it: channel_embedding_dim 6 and 8"},
		{"weights as state", map[string]string{run.LastFile: whole + "/" + run.CheckpointFile},
			"holds no state of a training"},
		{"another's configuration", map[string]string{run.ConfigFile: "?", run.LastFile: "", run.LogFile: "",
			run.CheckpointFile: "", run.ResultFile: ""},
			"config.json is not the configuration of a training"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range all {
				from, changed := tt.change[name]
				raw := read(t, whole, name)
				switch {
				case changed && from == "":
					continue
				case from == "?":
					raw = []byte(`{"architectures": ["Other"]}`)
				case strings.HasSuffix(from, ".safetensors"):
					raw = read(t, filepath.Dir(from), filepath.Base(from))
				case changed:
					raw = read(t, from, name)
				}
				if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			before := contents(t, dir)
			_, err := goOn(t, dir, "num_epochs=1")
			if !errors.Is(err, run.ErrForeign) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if after := contents(t, dir); after != before {
				t.Errorf("the directory had\n%s\nand has\n%s", before, after)
			}
		})
	}
}

// contents are the files of a directory and what is in them.
func contents(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name() + "\x00" + string(read(t, dir, e.Name())) + "\x00")
	}
	return b.String()
}

// There is a state to resume from before there is anything else that is worth keeping: a training that ends while it
// writes the first best epoch goes on from there.
func TestStateComesFirst(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	if _, err := small(t, whole, "num_epochs=1").Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	obstacle := filepath.Join(dir, run.CheckpointFile+".tmp")
	if err := os.Mkdir(obstacle, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := small(t, dir, "num_epochs=1").Train(t.Context()); err == nil {
		t.Fatal("the best epoch could be written")
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	read(t, dir, run.LastFile)
	if _, err := goOn(t, dir, "num_epochs=1"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, whole, run.CheckpointFile), read(t, dir, run.CheckpointFile)) {
		t.Error("the training ended with other weights")
	}
}

// A training that ended before it had learned anything leaves its configuration alone, and can begin again with
// another.
func TestBeginsAgain(t *testing.T) {
	dir := t.TempDir()
	if _, err := small(t, dir, "num_epochs=1").Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{run.LogFile, run.CheckpointFile, run.LastFile, run.ResultFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	read(t, dir, run.ConfigFile)
	if _, err := small(t, dir, "num_epochs=1", "learning_rate=0.01").Train(t.Context()); err != nil {
		t.Errorf("a configuration alone keeps a training from beginning: %v", err)
	}
}
