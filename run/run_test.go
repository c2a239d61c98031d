package run_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/run"
)

// record writes the configuration of a seed's run.
func record(t *testing.T, dir string, seed uint64, text string) {
	t.Helper()
	dir = run.SeedDir(dir, seed)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, run.ConfigFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// One more seed is like the first; those that were begun are found in the order of numbers.
func TestOpenSeed(t *testing.T) {
	dir := t.TempDir()
	for _, seed := range []uint64{10, 9} {
		record(t, dir, seed, `{"model": "dygmamba", "spec": {}, "hashes": {"data": "x"}}`)
	}
	if seeds := run.Seeds(dir); !slices.Equal(seeds, []uint64{9, 10}) {
		t.Errorf("seeds %v", seeds)
	}
	for asked, want := range map[uint64]uint64{10: 10, 3: 9} {
		if r, err := run.OpenSeed(dir, asked); err != nil || r.Dir != run.SeedDir(dir, want) {
			t.Errorf("seed %d: %s, %v", asked, r.Dir, err)
		}
	}
	if _, err := run.OpenSeed(t.TempDir(), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no runs: %v", err)
	}
}

func TestBrokenRun(t *testing.T) {
	for text, want := range map[string]string{
		"{":                                   "unexpected end",
		"{}":                                  "no hash of the data",
		`{"model":"x","hashes":{"data":"1"}}`: `unknown model "x"`,
	} {
		dir := t.TempDir()
		record(t, dir, 0, text)
		r, err := run.OpenSeed(dir, 0)
		if err == nil {
			_, _, _, err = r.Settings()
		}
		var broken *run.Error
		file := filepath.Join(dir, "seed-0", run.ConfigFile)
		if !errors.As(err, &broken) || broken.File != file || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", text, err, want)
		}
	}
}

// A run leads to its data from where it is now, and says when they are gone.
func TestSourceOfARun(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, 0, `{"data": "visits", "data_path": "../visits.dgm", "hashes": {"data": "x"}}`)
	file := filepath.Join(dir, "visits.dgm")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(run.SeedDir(dir, 0), run.CheckpointFile) // not needed: the run knows
	want := run.Source{Name: "visits", Path: file}
	if s, err := run.SourceOf(weights); err != nil || s != want {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want.Lost = true
	if s, err := run.SourceOf(weights); err != nil || s != want {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	if run.IsUnfinished(run.SeedDir(dir, 0)) {
		t.Error("a run that saved nothing is not unfinished")
	}
	if err := os.WriteFile(filepath.Join(dir, "seed-0", run.LastFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		file, text string
		want       bool
	}{{run.LogFile, "{}\n{}\n", true}, {run.ResultFile, `{"epochs": 2}`, false}, {run.LogFile, "{}\n{}\n{}\n",
		true}} {
		if err := os.WriteFile(filepath.Join(dir, "seed-0", step.file), []byte(step.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := run.IsUnfinished(run.SeedDir(dir, 0)); got != step.want {
			t.Errorf("unfinished with %s %q: %v, want %v", step.file, step.text, got, step.want)
		}
	}
}
