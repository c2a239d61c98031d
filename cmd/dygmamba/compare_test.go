package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/run"
)

// A run is as good as itself, and has the AP that it noted.
func TestCompare(t *testing.T) {
	dir, data := copied(t)
	small := trainedRun(t)
	args := []string{"compare", small.run, dir, "--data", data, "--device", "cpu"}
	program(t, args...).want(t, exitDone).shows(t, "difference", "+0.00", "1.0000", "0 of ")
	doc := decode[audit.Comparison](t, program(t, append(args, "--json", "--negatives", "historical")...).
		want(t, exitDone))
	if len(doc.Runs) != 2 || len(doc.Differences) != 1 || doc.Differences[0].P != 1 || len(doc.Runs[0].Batches) == 0 {
		t.Errorf("document %+v", doc)
	}
	mean := 0.0
	for _, ap := range doc.Runs[0].Batches {
		mean += ap / float64(len(doc.Runs[0].Batches))
	}
	if d := mean - doc.Runs[0].AP; d > 1e-9 || d < -1e-9 {
		t.Errorf("batches have a mean of %v, the run %v", mean, doc.Runs[0].AP)
	}
	if len(doc.Runs[0].Validation) == 0 {
		t.Error("there is no curve of validation")
	}
	page := filepath.Join(t.TempDir(), "compared.html")
	program(t, append(args, "--out", page)...).want(t, exitDone)
	if text := string(content(t, page)); strings.Count(text, `class="line"`) < 4 || !strings.Contains(text, dir) {
		t.Errorf("the page has no curve for each run:\n%.400s", text)
	}
	program(t, append(args, "--out", filepath.Join(page, "below"))...).want(t, exitUsage, "no directory")
	other := filepath.Join(t.TempDir(), "other.dgm")
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 900, Seed: 6})
	if err == nil {
		err = dataset.Save(other, set)
	}
	if err != nil {
		t.Fatal(err)
	}
	program(t, "compare", dir, small.run, "--data", other).want(t, exitBadInput, "trained on other data")
	program(t, "compare", dir).want(t, exitUsage, "two runs or more")
	program(t, "compare", dir, filepath.Join(dir, "none")).want(t, exitBadInput, "no such file",
		"want the directory of a run, or a file with weights")
	program(t, "compare", dir, small.run, "--negatives", "all").want(t, exitUsage, "--negatives")
}

// A directory with several seeds is one row: the mean over its seeds, batch by batch. A training that was stopped has a
// mark in every format.
func TestCompareSeeds(t *testing.T) {
	dir, data := copied(t)
	small := trainedRun(t)
	if err := os.CopyFS(filepath.Join(dir, "seed-1"), os.DirFS(small.run)); err != nil {
		t.Fatal(err)
	}
	args := []string{"compare", small.run, dir, "--data", data, "--device", "cpu"}
	program(t, args...).want(t, exitDone).shows(t, "± 0.00 (2)", "+0.00", "1.0000")
	doc := decode[audit.Comparison](t, program(t, append(args, "--json")...).want(t, exitDone))
	if len(doc.Runs) != 2 || len(doc.Runs[1].Seeds) != 2 || doc.Runs[1].AP != doc.Runs[0].AP ||
		doc.Runs[1].Run != dir || len(doc.Runs[1].Batches) != len(doc.Runs[0].Batches) || doc.Differences[0].P != 1 {
		t.Errorf("document %+v", doc)
	}
	file := filepath.Join(dir, "seed-1", run.ResultFile)
	text := strings.Replace(string(content(t, file)), `"results"`, `"ended": "max-time", "results"`, 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, args...).want(t, exitDone).shows(t, "(2) ᵘ", "ᵘ stopped before training ended")
	out := filepath.Join(t.TempDir(), "x.tex")
	program(t, append(args, "--out", out)...).want(t, exitDone)
	if text := string(content(t, out)); !strings.Contains(text, `(2)$^{\mathrm{u}}$`) {
		t.Errorf("no mark in\n%s", text)
	}
	config := filepath.Join(dir, "seed-1", run.ConfigFile)
	text = strings.Replace(string(content(t, config)), `"batch_size": `, `"batch_size": 1`, 1)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, args...).want(t, exitBadInput, "are no seeds of one training")
}
