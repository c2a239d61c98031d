package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/study"
)

func TestReproduceUsage(t *testing.T) {
	for args, want := range map[string]string{
		"reproduce":                             "'reproduce list' lists them",
		"reproduce tabel-1":                     `no table or figure "tabel-1"`,
		"reproduce all --datasets usi":          `no data set "usi"; did you mean uci?`,
		"reproduce all --models dygmama":        "did you mean dygmamba?",
		"reproduce all --seeds 0":               "--seeds is 0",
		"reproduce all --budget 1s":             "at least 10s",
		"reproduce all --epochs -1":             "--epochs is -1",
		"reproduce all --jobs -1":               "--jobs is -1",
		"reproduce all --runs nowhere --out x1": "",
	} {
		code := exitUsage
		if strings.Contains(args, "nowhere") {
			code, want = exitBadInput, "nowhere"
		}
		program(t, append(strings.Fields(args), "--device", "cpu", "--fetch=false")...).want(t, code, want)
	}
	program(t, "reproduce", "list").want(t, exitDone).shows(t, "transductive-ap", "Table 1", "limited-time")
	doc := decode[struct{ Exhibits []study.Exhibit }](t, program(t, "reproduce", "list", "--json").
		want(t, exitDone))
	if len(doc.Exhibits) < 20 {
		t.Errorf("%d exhibits", len(doc.Exhibits))
	}
}

func TestReproducePlan(t *testing.T) {
	data, out := streamNamed(t, "uci"), filepath.Join(t.TempDir(), "out")
	args := []string{"reproduce", "table-1", "--datasets", "uci,lastfm", "--models", "jodie,dyrep", "--data-dir", data,
		"--fetch=false", "--device", "cpu", "--out", out, "--plan"}
	program(t, args...).want(t, exitDone).shows(t, "uci-jodie-paper/seed-0", "not begun", "data fetch lastfm")
	doc := decode[study.Plan](t, program(t, append(args, "--json")...).want(t, exitDone))
	if len(doc.Runs) != 2 || len(doc.Missing) != 1 {
		t.Errorf("%+v", doc)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a plan was written down")
	}
}

// streamNamed is a directory with a small stream under a name of the paper.
func streamNamed(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 4, Targets: 4, Events: 1500})
	if err == nil {
		err = dataset.Save(filepath.Join(dir, name+".dgm"), set)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The real program, interrupted once: it ends with 130 and a report, and the same command goes on to the end.
func TestReproduceInterrupted(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("builds the program and interrupts it")
	}
	k, out := newKiller(t, 1), filepath.Join(t.TempDir(), "out")
	args := []string{"reproduce", "transductive-ap", "--datasets", "uci", "--models", "jodie,dyrep", "--data-dir",
		streamNamed(t, "uci"), "--device", "cpu", "--epochs", "25", "--budget", "10m", "--out", out, "--json",
		"--fetch=false"}
	cmd := exec.Command(k.program, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(out, "runs", "*", "seed-0", "log.jsonl")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if found, _ := filepath.Glob(logs); len(found) > 0 {
			break
		}
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("ended with %d\n%s", code, said.String())
	}
	var before study.Report
	if err := json.Unmarshal(content(t, out, study.ReportFile), &before); err != nil || !before.Stopped {
		t.Errorf("%v, the report says stopped: %v", err, before.Stopped)
	}
	raw, err := exec.Command(k.program, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	doc := decode[study.Report](t, result{out: string(raw)})
	for _, run := range doc.Runs {
		if run.State != study.Done || run.Version == "" || run.Machine == nil {
			t.Errorf("%+v", run)
		}
	}
	if len(doc.Runs) != 2 || doc.Stopped {
		t.Errorf("%d runs", len(doc.Runs))
	}
}

// A run is recorded once, and is listed and counted as done from its record.
func TestReproduceRecords(t *testing.T) {
	dir, _ := copied(t)
	into := filepath.Join(t.TempDir(), "records")
	program(t, "reproduce", "record", dir, "--into", into).want(t, exitDone).shows(t, "runs-0", "1 added to")
	program(t, "reproduce", "record", filepath.Join(dir, "seed-0"), "--into", into).
		want(t, exitBadInput, "there already")
	program(t, "reproduce", "record", filepath.Join(dir, "none"), "--into", into).want(t, exitBadInput, "none")
	program(t, "reproduce", "record").want(t, exitUsage, "directory of a run")
	program(t, "reproduce", "runs", "--runs", into).want(t, exitDone).shows(t, "# Every run", "dygmamba", "runs-0")
	both := decode[struct{ Runs []study.Shown }](t, program(t, "reproduce", "runs", "--runs", into+","+dir, "--json").
		want(t, exitDone))
	if len(both.Runs) != 1 || len(both.Runs[0].Tables) != 2 || len(both.Runs[0].Tables[1].Rows) != 2 {
		t.Errorf("%+v", both)
	}
	out := filepath.Join(t.TempDir(), "runs.html")
	program(t, "reproduce", "runs", "--runs", into, "--out", out).want(t, exitDone)
	if !strings.HasPrefix(string(content(t, out)), "<!doctype html>") {
		t.Error("runs.html is no page")
	}
	program(t, "reproduce", "runs", "--runs", into, "--out", "x.doc").want(t, exitUsage, ".html, .md")
	program(t, "reproduce", "runs", "--runs", "nowhere").want(t, exitBadInput, "nowhere")
}
