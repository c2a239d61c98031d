package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/brokertest"
)

// queueWorker is a worker that can be killed.
type queueWorker struct{ cmd *exec.Cmd }

func startWorker(t *testing.T, urls string) *queueWorker {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	args := []string{"worker", "--queue", urls, "--device", "cpu", "--threads", "1", "--keep-every", "500ms", "-q",
		"--work-dir", t.TempDir()}
	cmd.Env = append(os.Environ(), childArgs+"="+strings.Join(args, "\n"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &queueWorker{cmd}
	t.Cleanup(w.kill)
	return w
}

func (w *queueWorker) kill() {
	w.cmd.Process.Kill()
	w.cmd.Wait()
}

// studyCells are the results of a study, without times.
func studyCells(t *testing.T, out string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(out, "study.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Cells []map[string]any `json:"cells"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var list []string
	seen := map[string]bool{}
	for _, c := range doc.Cells {
		line, err := json.Marshal([]any{c["data"], c["model"], c["seed"], c["setting"], c["negatives"], c["ap"],
			c["auc"], c["state"]})
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(line)] {
			t.Errorf("%s is there twice", line)
		}
		seen[string(line)] = true
		list = append(list, string(line))
	}
	if len(list) == 0 || strings.Contains(strings.Join(list, ""), "failed") {
		t.Errorf("cells: %v", list)
	}
	return strings.Join(list, "\n")
}

func studyData(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.dgm")
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 600})
	if err == nil {
		err = dataset.Save(path, set)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func studyArgs(data, out string, seeds int, more ...string) []string {
	args := []string{"study", "--data", data, "--models", "graphmixer", "--seeds", strconv.Itoa(seeds), "--epochs", "2",
		"--out", out, "--device", "cpu", "--threads", "1", "-q"}
	for _, s := range []string{"num_neighbors=2", "time_feat_dim=8", "node_feat_dim=8", "edge_feat_dim=8"} {
		args = append(args, "--sweep", s)
	}
	return append(args, more...)
}

// TestQueue shares a study among workers that are killed, over three brokers that are killed in turn, and wants the
// table of one process alone. DYGMAMBA_KILLS sets how often, 2 otherwise.
func TestQueue(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("kills processes")
	}
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("DYGMAMBA_KILLS")); err == nil {
		kills = n
	}
	data, seeds := studyData(t), 4+kills
	alone, shared := filepath.Join(t.TempDir(), "alone"), filepath.Join(t.TempDir(), "shared")
	if r := program(t, studyArgs(data, alone, seeds)...); r.code != 0 {
		t.Fatal(r.err)
	}
	brokers := brokertest.NewCluster(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(),
		childArgs+"="+strings.Join(studyArgs(data, shared, seeds, "--queue", brokers.URLs()), "\n"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	workers := []*queueWorker{startWorker(t, brokers.URLs()), startWorker(t, brokers.URLs())}
	killed := 0
	for ended := false; killed < kills && !ended; {
		select {
		case err := <-over: // it was faster
			over <- err
			ended = true
			continue
		case <-time.After(time.Second + time.Duration(rand.Int64N(int64(2*time.Second)))):
		}
		k := killed % 2
		workers[k].kill()
		b := brokers[killed%3]
		b.Kill()
		b.Start(t)
		workers[k] = startWorker(t, brokers.URLs())
		killed++
	}
	select {
	case err := <-over:
		if err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
	case <-time.After(time.Duration(5+kills) * time.Minute):
		cmd.Process.Kill()
		t.Fatalf("the study is not over\n%s", said.String())
	}
	t.Logf("%d workers and %d brokers were killed, %d trainings", killed, killed, seeds)
	if got, want := studyCells(t, shared), studyCells(t, alone); got != want {
		t.Errorf("the shared study has\n%s\none process\n%s", got, want)
	}
}

// TestShard trains the parts of a study one after the other, and reports them together.
func TestShard(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	data, out := studyData(t), filepath.Join(t.TempDir(), "study")
	for i, want := range []int{1, 2} {
		if r := program(t, studyArgs(data, out, 2, "--shard", strconv.Itoa(i)+"/2")...); r.code != 0 {
			t.Fatal(r.err)
		}
		if done, _ := filepath.Glob(filepath.Join(out, "runs", "*", "seed-*", "result.json")); len(done) != want {
			t.Errorf("after part %d there are %d runs, want %d", i, len(done), want)
		}
	}
	r := program(t, studyArgs(data, out, 2)...)
	if r.code != 0 || strings.Count(studyCells(t, out), `"graphmixer"`) != 12 {
		t.Errorf("%s: %s", r.err, studyCells(t, out))
	}
	for _, bad := range []string{"2/2", "-1/2", "x", "1", "1/2/3", "0/0"} {
		if r := program(t, studyArgs(data, out, 2, "--shard", bad)...); r.code != exitUsage {
			t.Errorf("--shard %s: exit %d", bad, r.code)
		}
	}
}
