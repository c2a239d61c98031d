package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
)

// A run is as good as itself, and has the AP that it noted.
func TestCompare(t *testing.T) {
	dir, data := copied(t)
	small := trainedRun(t)
	args := []string{"compare", small.run, dir, "--data", data, "--device", "cpu"}
	program(t, args...).want(t, exitDone).shows(t, "difference", "+0.00", "1.0000", "0 of ")
	doc := decode[compareDoc](t, program(t, append(args, "--json", "--negatives", "historical")...).want(t, exitDone))
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
	program(t, "compare", dir, filepath.Join(dir, "none")).want(t, exitBadInput, "no such file")
	program(t, "compare", dir, small.run, "--negatives", "all").want(t, exitUsage, "--negatives")
}
