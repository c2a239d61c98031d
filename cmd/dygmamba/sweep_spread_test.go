package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/internal/brokertest"
	"github.com/dygmamba/dygmamba/run"
)

func sweepArgs(data, out string, more ...string) []string {
	args := []string{"train", "--data", data, "--model", "graphmixer", "--out", out, "--device", "cpu",
		"--threads", "1", "-q", "--sweep", "learning_rate=0.001,0.0001,0.00001", "--runs", "2"}
	for _, s := range []string{"num_neighbors=2", "time_feat_dim=8", "node_feat_dim=8", "edge_feat_dim=8",
		"num_epochs=3"} {
		args = append(args, "--set", s)
	}
	return append(args, more...)
}

// sweepFacts are what a sweep found, without times.
func sweepFacts(t *testing.T, out string) string {
	t.Helper()
	s, err := run.OpenSweep(out)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, s.Best, s.Rungs)
	for _, trial := range s.Trials {
		fmt.Fprintln(&b, trial.Name, trial.Settings, trial.Ended, trial.Chosen, trial.Failed)
		for _, r := range trial.Runs {
			fmt.Fprintln(&b, r.Seed, r.Epochs, r.BestEpoch, r.AP, r.AUC, r.Finished, r.Scores)
		}
	}
	for seed := range uint64(2) {
		dir := run.SeedDir(filepath.Join(out, s.Best), seed)
		fmt.Fprintf(&b, "%x\n", content(t, dir, run.CheckpointFile))
		r, err := run.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Result()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(found.Results)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
	}
	return b.String()
}

// TestSweepQueue shares a sweep among workers and wants what one process finds alone; TestQueue kills some.
func TestSweepQueue(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts processes")
	}
	data := studyData(t)
	alone, shared := filepath.Join(t.TempDir(), "alone"), filepath.Join(t.TempDir(), "shared")
	if r := program(t, sweepArgs(data, alone)...); r.code != 0 {
		t.Fatal(r.err)
	}
	want := sweepFacts(t, alone)
	broker := brokertest.New(t)
	startWorker(t, broker.URL())
	startWorker(t, broker.URL())
	if r := program(t, sweepArgs(data, shared, "--queue", broker.URL())...); r.code != 0 {
		t.Fatal(r.err)
	}
	if got := sweepFacts(t, shared); got != want {
		t.Errorf("workers found\n%.1500s\none process\n%.1500s", got, want)
	}
	// whoever asks again gets what is there, and nothing is trained
	again := filepath.Join(t.TempDir(), "again")
	began := time.Now()
	r := program(t, sweepArgs(data, again, "--queue", broker.URL())...)
	if r.code != 0 || sweepFacts(t, again) != want {
		t.Errorf("asked again after %v: %s", time.Since(began), r.err)
	}
}

// TestSweepShard trains the parts of a sweep one after the other, and chooses then.
func TestSweepShard(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	data := studyData(t)
	alone, shared := filepath.Join(t.TempDir(), "alone"), filepath.Join(t.TempDir(), "shared")
	if r := program(t, sweepArgs(data, alone, "--full")...); r.code != 0 {
		t.Fatal(r.err)
	}
	for _, part := range []string{"1/2", "0/2"} {
		if r := program(t, sweepArgs(data, shared, "--full", "--shard", part)...); r.code != 0 {
			t.Fatal(r.err)
		}
	}
	trained := content(t, run.SeedDir(filepath.Join(shared, "trial-1"), 1), run.LastFile)
	if r := program(t, sweepArgs(data, shared, "--full", "--resume")...); r.code != 0 {
		t.Fatal(r.err)
	}
	if got, want := sweepFacts(t, shared), sweepFacts(t, alone); got != want {
		t.Errorf("parts found\n%.1500s\none process\n%.1500s", got, want)
	}
	if !bytes.Equal(trained, content(t, run.SeedDir(filepath.Join(shared, "trial-1"), 1), run.LastFile)) {
		t.Error("what a part trained was trained again")
	}
	for want, more := range map[string][]string{
		"needs --full":        {"--shard", "0/2"},
		"must be i/n":         {"--shard", "2/2", "--full"},
		"used together":       {"--shard", "0/2", "--full", "--queue", "nats://localhost:1"},
		"with --from, --fit":  {"--queue", "nats://localhost:1", "--fit", "all"},
		"--max-time cannot":   {"--queue", "nats://localhost:1", "--max-time", "1m"},
		"--sweep is missing:": nil,
	} {
		args := sweepArgs(data, filepath.Join(t.TempDir(), "x"), more...)
		if more == nil {
			want, args = "--sweep is missing", []string{"train", "--data", data, "--queue", "nats://localhost:1"}
		}
		program(t, args...).want(t, exitUsage, want)
	}
}
