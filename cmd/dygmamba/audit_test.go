package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/run"
)

// copied is a copy of the small run, its directory above that of the seed.
func copied(t *testing.T) (dir, data string) {
	t.Helper()
	small := trainedRun(t)
	dir = filepath.Join(t.TempDir(), "runs")
	if err := os.CopyFS(filepath.Join(dir, "seed-0"), os.DirFS(small.run)); err != nil {
		t.Fatal(err)
	}
	return dir, small.data
}

// A run passes, and has a stamp; once its result was touched it fails, with exit code 1 and its document all the same.
func TestAudit(t *testing.T) {
	dir, data := copied(t)
	program(t, "audit", dir, "--data", data, "--device", "cpu").want(t, exitDone).
		shows(t, "metrics recomputed", "scores in a shuffled batch", "verdict: pass")
	stamped := func() {
		t.Helper()
		var stamp audit.Stamp
		err := json.Unmarshal(content(t, dir, "seed-0", audit.StampFile), &stamp)
		if err != nil || stamp.Verdict != audit.Pass {
			t.Errorf("stamp %+v, %v", stamp, err)
		}
	}
	stamped()
	file := filepath.Join(dir, "seed-0", run.ResultFile)
	head, results, found := strings.Cut(string(content(t, file)), `"results"`)
	if !found {
		t.Fatal("the run has no results")
	}
	forged := head + `"results"` + strings.Replace(results, `"ap": 0.`, `"ap": 0.9`, 1)
	if err := os.WriteFile(file, []byte(forged), 0o644); err != nil {
		t.Fatal(err)
	}
	r := program(t, "audit", filepath.Join(dir, "seed-0"), "--data", data, "--device", "cpu", "--json", "--no-stamp")
	r.want(t, exitFailed, "verdict fail")
	doc := decode[map[string]any](t, r)
	checks, _ := doc["checks"].([]any)
	if doc["verdict"] != "fail" || len(doc) != 2 || len(checks) < 20 {
		t.Fatalf("document %v", doc)
	}
	for _, key := range []string{"name", "ok", "found", "want"} {
		if c := checks[0].(map[string]any); c[key] == nil || len(c) != 4 {
			t.Errorf("a check is %v, lacks %s", c, key)
		}
	}
	stamped() // as it was, with --no-stamp
	if err := os.Remove(filepath.Join(dir, "seed-0", run.CheckpointFile)); err != nil {
		t.Fatal(err)
	}
	program(t, "audit", dir, "--data", data, "--device", "cpu").want(t, exitFailed, "verdict fail").
		shows(t, "could not be made: no checkpoint.safetensors")
}

func TestAuditScores(t *testing.T) {
	small := trainedRun(t)
	path := filepath.Join(t.TempDir(), "scores.csv")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(args ...string) result {
		return program(t, append([]string{"audit", "--scores", path, "--data", small.data}, args...)...)
	}
	write("u,i,ts,label,score\nu1,v1,5,1,0.5\n")
	ask().want(t, exitFailed, "verdict fail").shows(t, "rows", "each followed by its negatives")
	r := ask("--json", "--setting", "inductive", "--negatives", "historical").want(t, exitFailed)
	if doc := decode[audit.Report](t, r); doc.Verdict != "fail" {
		t.Errorf("verdict %s", doc.Verdict)
	}
	write("u,i,ts,label,score\nu1,v1,5,2,x\n")
	ask().want(t, exitBadInput, "label", "1 for what happened", "score", "row 1")
	write("u,i,ts,score\n")
	ask().want(t, exitBadInput, "label")
	write("")
	ask().want(t, exitBadInput, "found no column names")
	ask("--negatives", "all").want(t, exitUsage, "--negatives")
	ask("--setting", "all").want(t, exitUsage, "--setting")
	program(t, "audit", "--scores", path).want(t, exitUsage, "--data is missing")
	program(t, "audit", "--scores", path+"x", "--data", small.data).want(t, exitBadInput, "no such file")
}

func TestAuditRefuses(t *testing.T) {
	dir, data := copied(t)
	program(t, "audit").want(t, exitUsage, "needs the directory of a run")
	program(t, "audit", dir, "--negatives", "random").want(t, exitUsage, "--negatives needs --scores")
	program(t, "audit", dir, "--scores", "x.csv").want(t, exitUsage, "takes no arguments")
	program(t, "audit", filepath.Join(dir, "none")).want(t, exitBadInput, "no such file")
	program(t, "audit", t.TempDir()).want(t, exitBadInput, "has no checkpoint.safetensors")
	if err := os.CopyFS(filepath.Join(dir, "seed-1"), os.DirFS(filepath.Join(dir, "seed-0"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "seed-0", run.ResultFile)); err != nil {
		t.Fatal(err)
	}
	program(t, "audit", filepath.Join(dir, "seed-0"), "--data", data).want(t, exitBadInput, "result.json")
}
