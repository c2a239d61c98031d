package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/audit"
)

// Commands that ask one model take the directory of a training with several seeds: the best by validation answers, and
// tables show all of them.
func TestSeveralSeeds(t *testing.T) {
	small := trainedRun(t)
	out := filepath.Join(t.TempDir(), "run")
	program(t, training(small.data, "--out", out, "--runs", "2")...).want(t, exitDone)
	const best = "the best of 2 by validation AP"
	queries := queryFile(t, "u,i,ts", "u1,v1,1000000")
	program(t, "predict", "--run", out, "--queries", queries, "--device", "cpu").want(t, exitDone, best)
	page := filepath.Join(t.TempDir(), "page.html")
	r := program(t, "report", out, "--out", page, "--device", "cpu", "--cases", "1", "--json").want(t, exitDone, best)
	if doc := decode[map[string]any](t, r); len(doc["seeds"].([]any)) != 2 {
		t.Errorf("the report has %v", doc["seeds"])
	}
	if text := string(content(t, page)); !strings.Contains(text, "seed 0") || !strings.Contains(text, "seed 1") {
		t.Error("the page has no table of all seeds")
	}
	r = program(t, "audit", out, "--device", "cpu", "--json").want(t, exitDone)
	doc := decode[struct {
		audit.Report
		Runs []struct{ Run, Verdict string }
	}](t, r)
	if doc.Verdict != audit.Pass || len(doc.Runs) != 2 || doc.Runs[1].Verdict != audit.Pass || len(doc.Checks) < 40 {
		t.Errorf("audited: %+v", doc)
	}
	program(t, "audit", out, "--device", "cpu").want(t, exitDone).shows(t, "seed-0", "seed-1", "verdict: pass")
}

// A test of three rows says nothing, and is not shown as if it did.
func TestFewTestEvents(t *testing.T) {
	dir := t.TempDir()
	csv, data, out := filepath.Join(dir, "few.csv"), filepath.Join(dir, "few.dgm"), filepath.Join(dir, "run")
	if err := os.WriteFile(csv, []byte("u,i,ts\na,x,1\nb,y,2\na,y,3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, "data", "import", csv, "--src", "u", "--dst", "i", "--time", "ts", "--out", data).want(t, exitDone)
	const warning = "too few test events to conclude"
	program(t, training(data, "--out", out)...).want(t, exitDone, warning)
	program(t, "eval", "--run", out, "--device", "cpu").want(t, exitDone, warning)
	program(t, "audit", out, "--device", "cpu").want(t, exitFailed, "verdict fail").shows(t, warning)
}
