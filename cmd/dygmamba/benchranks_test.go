//go:build unix

package main

import (
	"encoding/json"
	"math"
	"os/exec"
	"testing"

	"github.com/dygmamba/dygmamba/train"
)

// TestBenchRanks measures two small trainings that two ranks share.
func TestBenchRanks(t *testing.T) {
	program(t, "bench", "ranks", "--data", "x", "--rounds", "0").want(t, exitUsage, "--rounds is 0")
	program(t, "bench", "ranks", "--data", "x", "--models", "nobody").want(t, exitUsage, "--models")
	if testing.Short() {
		t.Skip("starts processes")
	}
	args := []string{"bench", "ranks", "--data", rankData(t), "--device", "cpu", "--models", "graphmixer,tgn",
		"--json", "--batch-sizes", "40", "--events", "120", "--rounds", "2", "--set", "time_feat_dim=8",
		"--set", "num_neighbors=3", "--set", "node_feat_dim=8", "--set", "edge_feat_dim=8"}
	cmd := launcher(t, launchers[0], 2, args)
	raw, err := cmd.Output()
	if ended := (*exec.ExitError)(nil); err != nil {
		ended, _ = err.(*exec.ExitError)
		t.Fatalf("%v\n%s", err, ended.Stderr)
	}
	var doc ranksReport
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if doc.Ranks != 2 || doc.Shards != train.DefaultShards || len(doc.Rows) != 2 || len(doc.Exchange) != 4 {
		t.Fatalf("got %+v", doc)
	}
	for _, r := range doc.Rows {
		for name, v := range map[string]float64{"alone": r.Alone, "rate": r.Rate, "efficiency": r.Efficiency,
			"CPU": r.CPU, "compute": r.Compute, "exchange": r.Exchange, "update": r.Update,
			"numbers": float64(r.Numbers)} {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("%s: %s is %v", r.Model, name, v)
			}
		}
		if r.Batches != 3 || len(r.Efficiencies) != 2 ||
			math.Abs(r.Efficiency-(r.Efficiencies[0]+r.Efficiencies[1])/2) > 1e-9 {
			t.Errorf("%s: %d batches, median of %v is %v", r.Model, r.Batches, r.Efficiencies, r.Efficiency)
		}
		// the parts of a step were measured within it
		if r.Commit < 0 || r.Other < -0.001 {
			t.Errorf("%s: commit takes %v ms, the rest of a step %v", r.Model, r.Commit, r.Other)
		}
	}
}
