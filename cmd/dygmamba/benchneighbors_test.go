package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/bench"
)

func TestBenchNeighbors(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 5, Targets: 5, Events: 1500})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, save, plot := filepath.Join(dir, "small.dgm"), filepath.Join(dir, "n.json"), filepath.Join(dir, "n.svg")
	if err := dataset.Save(data, set); err != nil {
		t.Fatal(err)
	}
	args := []string{"bench", "neighbors", "--data", data, "--device", "cpu", "--steps", "2",
		"--lengths", "32,8,16,1000000000", "--set", "channel_embedding_dim=8", "--set", "time_feat_dim=10",
		"--set", "patch_size=2", "--set", "batch_size=20"}
	program(t, append(args, "--save", save, "--plot", plot)...).want(t, exitDone).
		shows(t, "ms per 1000", "1,000,000,000  needs about", "are free", "per 1000 neighbours, within")

	raw, err := os.ReadFile(save)
	if err != nil {
		t.Fatal(err)
	}
	var doc bench.NeighborsReport
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Rows) != 4 || doc.Time == nil || doc.Memory == nil || doc.BatchSize != 20 {
		t.Fatalf("document %+v", doc)
	}
	for i, want := range []int{8, 16, 32} {
		r := doc.Rows[i]
		// one position of padding, in patches of two
		if r.Neighbors != want || r.Positions != want+2 || !(r.Step > 0) || !(r.Gather > 0) || r.Problem != "" {
			t.Errorf("row %d: %+v", i, r)
		}
		if r.Memory != r.Planned { // the CPU takes nothing for itself
			t.Errorf("%d neighbours: %d bytes in use, %d planned", want, r.Memory, r.Planned)
		}
	}
	if r := doc.Rows[3]; r.Neighbors != 1e9 || r.Problem == "" || r.Step != 0 {
		t.Errorf("a length beyond the memory: %+v", r)
	}
	if picture, err := os.ReadFile(plot); err != nil || strings.Count(string(picture), "<circle") != 6 {
		t.Errorf("picture of three lengths, twice: %v\n%s", err, picture)
	}
	printed := decode[bench.NeighborsReport](t, program(t, append(args, "--json")...).want(t, exitDone))
	if len(printed.Rows) != 4 {
		t.Errorf("--json prints %d rows", len(printed.Rows))
	}
}

func TestBenchNeighborsUsage(t *testing.T) {
	run := func(want string, args ...string) {
		t.Helper()
		program(t, append([]string{"bench", "neighbors", "--data", "uci"}, args...)...).want(t, exitUsage, want)
	}
	run("--lengths has 0, must be at least 1", "--lengths", "64,0")
	run("--lengths", "--lengths", "")
	run("--steps is 0, must be at least 1", "--steps", "0")
	run("there is no directory", "--plot", filepath.Join(t.TempDir(), "no", "x.svg"))
	run("--plot fits a line and needs at least 3 --lengths, found 2", "--lengths", "8,16",
		"--plot", filepath.Join(t.TempDir(), "x.svg"))
	run("patch_size is 0", "--set", "patch_size=0")
}
