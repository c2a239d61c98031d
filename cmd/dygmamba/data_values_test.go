package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestValuesAndClasses: a table with a value and with labels that are words is imported, trained on, measured and asked
// about. The value is −0.8 times the last one of its source and noise of deviation 1, so 1 is the best RMSE.
func TestValuesAndClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	rng, last := rand.New(rand.NewPCG(29, 11)), map[int]float64{}
	text := "who,what,when,amount,mood\n"
	for i := range 3000 {
		u := rng.IntN(8)
		last[u] = -0.8*last[u] + rng.NormFloat64()
		text += fmt.Sprintf("p%d,q%d,%d,%.4f,%s\n", u, rng.IntN(5), i, last[u], []string{"glad", "sad", "calm"}[u%3])
	}
	for name, rows := range map[string]string{"e.csv": text, "q.csv": "u,i,ts\np1,q1,3000\np2,q4,3000.5\n"} {
		if err := os.WriteFile(file(name), []byte(rows), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program(t, "data", "import", file("e.csv"), "--bipartite", "--value", "amount", "--label", "mood", "--out",
		file("a.dgm")).want(t, exitDone).shows(t, "value amount", "3: calm, glad, sad")
	train := func(task, out string, more ...string) result {
		args := []string{"train", "--data", file("a.dgm"), "--task", task, "--model", "graphmixer", "--out", file(out),
			"--device", "cpu", "--set", "num_layers=1", "--set", "num_neighbors=4", "--set", "time_feat_dim=8",
			"--set", "node_feat_dim=8", "--set", "edge_feat_dim=8", "--set", "dropout=0"}
		return program(t, append(args, more...)...).want(t, exitDone)
	}
	answers := func(out string) [][]string {
		program(t, "predict", "--run", file(out), "--queries", file("q.csv"), "--out", file(out+".csv")).
			want(t, exitDone)
		var rows [][]string
		for _, line := range strings.Fields(string(content(t, file(out+".csv")))) {
			rows = append(rows, strings.Split(line, ","))
		}
		return rows
	}
	type measured struct {
		Runs []struct {
			Results []struct{ RMSE, Accuracy float64 }
		}
	}

	train("regression", "values", "--set", "num_epochs=20", "--set", "learning_rate=0.005").
		shows(t, "rule last", "rule mean")
	var m measured
	decodeFile(t, &m, file("values"), "result.json")
	if rmse := m.Runs[0].Results[0].RMSE; rmse < 0.8 || rmse > 1.4 {
		t.Errorf("RMSE %v, want nearly 1 (the mean has 1.7)", rmse)
	}
	program(t, "eval", "--run", file("values")).want(t, exitDone).shows(t, "RMSE")
	rows := answers("values")
	for i, u := range []int{1, 2} {
		got, err := strconv.ParseFloat(rows[i+1][3], 64)
		if want := -0.8 * last[u]; err != nil || rows[0][3] != "value" || got < want-1.5 || got > want+1.5 {
			t.Errorf("the next value of p%d is %v, want nearly %v (%v)", u, rows[i+1], want, err)
		}
	}

	train("node-classification", "classes", "--set", "num_epochs=1").shows(t, "macro F1", "rule node_last")
	if rows = answers("classes"); rows[0][4] != "class" || len(rows[0]) != 8 || len(rows) != 3 {
		t.Errorf("answers about classes are %q", rows)
	}
}
