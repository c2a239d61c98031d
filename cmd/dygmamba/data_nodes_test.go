package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNodesOverTime: tables of node features and of labels with times of their own are imported, shown, exported and
// imported again to the same data, trained on and asked about; what is wrong in them is said with row and column.
func TestNodesOverTime(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, rows []string) {
		t.Helper()
		if err := os.WriteFile(file(name), []byte(strings.Join(rows, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(29, 9))
	events, nodes, labels := []string{"who,what,when"}, []string{"name,since,mood"}, []string{"name,at,state"}
	for i := range 400 {
		events = append(events, fmt.Sprintf("p%d,q%d,%d", rng.IntN(9), rng.IntN(5), i/2))
		if i%3 == 0 {
			nodes = append(nodes, fmt.Sprintf("p%d,%d,%v", rng.IntN(9), i/2, rng.NormFloat64()))
			name, state := []string{"p1", "q2"}[i%2], []string{"up", "down"}[i%5%2]
			labels = append(labels, fmt.Sprintf("%s,%d,%s", name, i/2, state))
		}
	}
	put("e.csv", events)
	put("n.csv", nodes)
	put("l.csv", labels)
	read := []string{"data", "import", file("e.csv"), "--src", "who", "--dst", "what", "--time", "when", "--bipartite",
		"--nodes", file("n.csv"), "--node-time", "since", "--node-labels", file("l.csv")}
	program(t, append(read, "--out", file("a.dgm"))...).want(t, exitDone).
		shows(t, "features of nodes change: 134 rows", "134 of 2 classes: down, up")
	program(t, "data", "check", file("a.dgm")).want(t, exitDone)
	program(t, "data", "info", file("a.dgm"), "--brief").want(t, exitDone).
		shows(t, "134 rows of 9 nodes", "node labels", "down (")
	program(t, "data", "export", file("a.dgm"), "--out", file("x.csv"), "--nodes", file("xn.parquet"),
		"--node-labels", file("xl.csv")).want(t, exitDone).shows(t, "rows of node features", "labels of nodes")
	program(t, "data", "import", file("x.csv"), "--schema", file("x.schema.json"), "--nodes", file("xn.parquet"),
		"--node-labels", file("xl.csv"), "--out", file("b.dgm")).want(t, exitDone)
	hash := func(name string) string {
		return decode[infoDoc](t, program(t, "data", "info", file(name), "--brief", "--json").want(t, exitDone)).Hash
	}
	if a, b := hash("a.dgm"), hash("b.dgm"); a != b {
		t.Errorf("imported again the hash is %s, want %s", b, a)
	}

	put("l.csv", []string{"name,at,state", "p1,1,up", "nobody,2,down", "p1,later,up"})
	program(t, append(read, "--out", file("c.dgm"))...).want(t, exitBadInput,
		`l.csv: line 3 (row 2), column name: found "nobody"; want a node that has events`,
		`l.csv: line 4 (row 3), column at: found "later"; want a finite number or a date`)
	put("n.csv", []string{"name,mood", "p1,1"})
	program(t, append(read, "--out", file("c.dgm"))...).want(t, exitBadInput, "n.csv: found no column since")
	program(t, "data", "import", file("e.csv"), "--node-time", "since").want(t, exitUsage, "--node-time needs --nodes")
	program(t, "data", "import", file("e.csv"), "--node-label", "x").want(t, exitUsage, "need --node-labels")

	program(t, "train", "--data", file("a.dgm"), "--model", "graphmixer", "--task", "node-classification", "--out",
		file("run"), "--set", "num_epochs=1", "--set", "num_neighbors=4", "--set", "time_feat_dim=8",
		"-q").want(t, exitDone)
	put("q.csv", []string{"u,i,ts", "p1,q1,150", "p1,q4,150", "q2,q2,199.5"})
	program(t, "predict", "--run", file("run"), "--data", file("a.dgm"), "--queries", file("q.csv"), "--out",
		file("s.csv")).want(t, exitDone)
	raw, err := os.ReadFile(file("s.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if len(rows) != 4 || strings.Split(rows[1], ",")[3] != strings.Split(rows[2], ",")[3] {
		t.Errorf("answers are %q, want the same for p1 whoever stands beside it", rows)
	}
	program(t, "train", "--data", file("a.dgm"), "--model", "tgn", "--task", "node-classification", "--out",
		file("tgn")).want(t, exitFailed, "tgn has a memory")
}
