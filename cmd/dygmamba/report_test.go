package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/internal/report"
	"github.com/dygmamba/dygmamba/run"
)

// reported is a copy of the small run with a report in it.
func reported(t *testing.T, args ...string) (dir string, r result) {
	t.Helper()
	small := trainedRun(t)
	dir = filepath.Join(t.TempDir(), "runs", "visits")
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(small.run))); err != nil {
		t.Fatal(err)
	}
	return dir, program(t, append([]string{"report", dir, "--data", small.data, "--device", "cpu"}, args...)...)
}

// A page lies in the run, and has its numbers.
func TestReport(t *testing.T) {
	dir, r := reported(t)
	r.want(t, exitDone).shows(t, "dygmamba on periodic, seed 0", "calibration error", "report.html")
	page := string(content(t, dir, "report.html"))
	var noted run.Result
	if err := json.Unmarshal(content(t, dir, "seed-0", run.ResultFile), &noted); err != nil {
		t.Fatal(err)
	}
	for _, m := range noted.Results {
		exact, _ := json.Marshal(m.AP)
		if m.Scenario == "transductive" && !strings.Contains(page, `<data value="`+string(exact)+`">`) {
			t.Errorf("the page lacks AP %s", exact)
		}
	}
	for _, part := range []string{"dygmamba on periodic", "The hardest cases", "Can the probabilities be taken at " +
		"their word?", noted.Split} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	out := filepath.Join(t.TempDir(), "p.html")
	_, again := reported(t, "--json", "--out", out, "--cases", "1", "--setting", "inductive")
	doc := decode[report.Report](t, again.want(t, exitDone))
	if doc.Page != out || doc.Scenario != "inductive" || len(doc.Cases) > 4 || doc.Repeats == nil || !*doc.Repeats ||
		len(content(t, out)) < 10_000 {
		t.Errorf("page %s, setting %s, %d cases", doc.Page, doc.Scenario, len(doc.Cases))
	}
}

func TestReportRefuses(t *testing.T) {
	small := trainedRun(t)
	empty := t.TempDir()
	program(t, "report").want(t, exitUsage, "needs the directory of a run")
	program(t, "report", filepath.Join(empty, "none")).want(t, exitBadInput, "no such file")
	program(t, "report", empty).want(t, exitBadInput, "has no checkpoint.safetensors")
	program(t, "report", small.data).want(t, exitBadInput, "config.json")
	program(t, "report", small.run, "--cases", "-1").want(t, exitUsage, "--cases is -1")
	program(t, "report", small.run, "--setting", "all").want(t, exitUsage, "--setting")
	program(t, "report", small.run, "--negatives", "all").want(t, exitUsage, "--negatives")
	program(t, "report", small.run, "--out", filepath.Join(empty, "no", "x.html")).want(t, exitUsage,
		"there is no directory")
	program(t, "report", small.run, "--out", small.data, "--data", small.data).want(t, exitUsage,
		"is the file with the data")
	dir, r := reported(t)
	r.want(t, exitDone)
	if err := os.CopyFS(filepath.Join(dir, "seed-1"), os.DirFS(filepath.Join(dir, "seed-0"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "seed-1", run.LogFile), []byte("{\"epoch\":7}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, "report", filepath.Join(dir, "seed-1"), "--data", small.data).want(t, exitBadInput,
		"is not the record of epoch 1")
}
