package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A newcomer has a table with names, times in no order, and a few broken rows. The program says exactly what is wrong
// and writes nothing; after mending, the table imports, shows itself, and can be evaluated.
func TestNewcomer(t *testing.T) {
	dir := t.TempDir()
	table, out := filepath.Join(dir, "visits.csv"), filepath.Join(dir, "visits.dgm")
	rows := visits(400)
	broken := append([]string{}, rows...)
	broken[2] = "Ada,espresso,yesterday"
	broken[9] = ",tea,2024-05-01T08:05:00Z"
	broken[41] = "Bob,tea"
	broken[77] = "Bob,tea,NaN"
	write(t, table, broken)
	flags := []string{table, "--src", "who", "--dst", "what", "--time", "when", "--bipartite"}
	complaints := []string{
		"4 problems",
		`visits.csv: line 4 (row 3), column when: found "yesterday"; want a finite number or a date`,
		`visits.csv: line 11 (row 10), column who: found ""; want`,
		`visits.csv: line 43 (row 42): found 2 columns; want 3`,
		`visits.csv: line 79 (row 78), column when: found "NaN"; want a finite number or a date`,
	}

	r := program(t, append([]string{"data", "check"}, flags...)...).want(t, exitBadInput, complaints...)
	if r.out != "" {
		t.Errorf("standard output must stay empty, has %q", r.out)
	}
	program(t, append([]string{"data", "import", "--out", out}, flags...)...).want(t, exitBadInput, complaints...)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Fatalf("an import that failed left files: %v, %v", left, err)
	}

	write(t, table, rows)
	program(t, append([]string{"data", "check"}, flags...)...).want(t, exitDone).shows(t, "400 events", "nothing wrong")
	program(t, append([]string{"data", "import", "--out", out}, flags...)...).want(t, exitDone).
		shows(t, "wrote", "400", "two kinds", "who → what at when", "rows were not in time order; sorted")

	renamed := filepath.Join(dir, "shop.dgm")
	program(t, append([]string{"data", "import", "--out", renamed}, flags...)...).want(t, exitDone)
	program(t, "data", "info", renamed).want(t, exitDone).shows(t, "shop: 400 events")

	program(t, "data", "info", out).want(t, exitDone).
		shows(t, "visits: 400 events between 9 nodes", "5 as sources, 4 as destinations", "2024-05-01T", "Ada (",
			"density", "train ")
	info := decode[infoDoc](t, program(t, "data", "info", out, "--json").want(t, exitDone))
	if info.Events != 400 || info.Nodes != 9 || !info.Bipartite || info.TimeFormat != "date" ||
		len(info.History) == 0 || info.Busiest[0].Node == "" {
		t.Errorf("got %+v", info)
	}

	program(t, "eval", "--model", "edgebank", "--data", out).want(t, exitDone).
		shows(t, "edgebank on visits", "native sampling", "best", "sha256")
	doc := decode[evalDoc](t, program(t, "eval", "--model", "edgebank", "--data", out, "--json").want(t, exitDone))
	if len(doc.Results) != 24 || doc.Data.Hash != info.Hash || doc.Split != info.Split {
		t.Errorf("%d results on %+v, split %+v", len(doc.Results), doc.Data, doc.Split)
	}
}

// visits is a table of customers and their drinks, in no order.
func visits(n int) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	who := []string{"Ada", "Bob", "Çelik", "D. Düsentrieb", `"Eve, the spy"`}
	what := []string{"espresso", "tea", "water", "Bob"} // a drink called like a customer is another node
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("%s,%s,2024-05-%02dT%02d:%02d:00Z",
			who[i%5], what[rng.IntN(1+i%4)], 1+rng.IntN(28), 7+rng.IntN(12), rng.IntN(60))
	}
	return rows
}

func write(t *testing.T, path string, rows []string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("who,what,when\n"+strings.Join(rows, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestBadInputAsJSON(t *testing.T) {
	table := filepath.Join(t.TempDir(), "visits.csv")
	write(t, table, []string{"Ada,tea,1", "Bob,tea,soon"})
	check := decode[checkDoc](t, program(t, "data", "check", table, "--src", "who", "--dst", "what", "--time", "when",
		"--json").want(t, exitBadInput))
	if check.OK || check.Total != 1 || len(check.Problems) != 1 || check.Problems[0].Line != 3 ||
		check.Problems[0].Column != "when" {
		t.Errorf("got %+v", check)
	}
	doc := decode[failure](t, program(t, "data", "import", table, "--src", "who", "--dst", "what", "--time", "when",
		"--json").want(t, exitBadInput))
	if doc.Error.Kind != "bad input" || len(doc.Error.Problems) != 1 || doc.Error.Problems[0].Found != `"soon"` {
		t.Errorf("got %+v", doc.Error)
	}
}

func TestImportUsage(t *testing.T) {
	table := filepath.Join(t.TempDir(), "visits.csv")
	write(t, table, []string{"Ada,tea,1"})
	program(t, "data", "import").want(t, exitUsage, "needs a file")
	program(t, "data", "import", table, "--format", "xml").want(t, exitUsage, `--format is "xml", must be csv, jsonl`)
	program(t, "data", "import", table, "--out", table).want(t, exitUsage, "is one of the files to read")
	program(t, "data", "import", table, "--out", filepath.Join(table, "no", "x.dgm")).
		want(t, exitUsage, "there is no directory")
	program(t, "data", "import", table, "--max-problems", "0").want(t, exitUsage, "--max-problems is 0")
	program(t, "data", "check", filepath.Dir(table), "--max-problems", "-5").want(t, exitUsage, "--max-problems is -5")
	nodes := filepath.Join(filepath.Dir(table), "nodes.csv")
	write(t, nodes, []string{"Ada,tea,1"})
	program(t, "data", "import", table, "--nodes", nodes, "--out", nodes).
		want(t, exitUsage, "is one of the files to read")
	foreign := filepath.Join(filepath.Dir(table), "foreign.csv")
	if err := os.WriteFile(foreign, []byte("wer,was,wann\nAda,tea,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	program(t, "data", "import", foreign).want(t, exitBadInput, "wer, was, wann", "--src")
	program(t, "data", "import", filepath.Join(filepath.Dir(table), "none.csv")).want(t, exitBadInput, "none.csv")
}

func TestJODIE(t *testing.T) {
	dir := t.TempDir()
	raw, out := filepath.Join(dir, "toy.csv"), filepath.Join(dir, "toy.dgm")
	text := "user_id,item_id,timestamp,state_label,features\n0,0,0.0,0,0.5,1\n1,0,1.5,1,0,2\n0,1,1.5,0,0,3\n"
	if err := os.WriteFile(raw, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	program(t, "data", "import", raw, "--format", "jodie", "--bipartite", "--out", out).want(t, exitDone).
		shows(t, "3 events between 4 nodes")
	info := decode[infoDoc](t, program(t, "data", "info", out, "--json").want(t, exitDone))
	if info.EdgeFeatures.Columns != 2 || info.Labels != 1 || !info.Bipartite {
		t.Errorf("got %+v", info)
	}
}

func TestInfoOfStrangeNames(t *testing.T) {
	dir := t.TempDir()
	table, out := filepath.Join(dir, "a.csv"), filepath.Join(dir, "a.dgm")
	if err := os.WriteFile(table, []byte("src,dst,ts\n\"\x1b[31mred\",\"a\nb\",1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	program(t, "data", "import", table, "--out", out).want(t, exitDone)
	program(t, "data", "info", out, "--brief").want(t, exitDone).shows(t, `"\x1b[31mred" (1)`, `"a\nb" (1)`)
}

func TestJODIEHasNoOtherColumns(t *testing.T) {
	raw := filepath.Join(t.TempDir(), "toy.csv")
	err := os.WriteFile(raw, []byte("user_id,item_id,timestamp,state_label,features\n0,0,0.0,0,0.5\n"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	program(t, "data", "import", raw, "--format", "jodie", "--nodes", raw, "--out", raw+".dgm").
		want(t, exitUsage, "--nodes cannot be used with --format jodie")
	program(t, "data", "import", raw, "--delimiter", "\n", "--out", raw+".dgm").
		want(t, exitFailed, "want one character that is no quote and no line end")
}

func TestSynth(t *testing.T) {
	dir := t.TempDir()
	native, layout := filepath.Join(dir, "s2.dgm"), filepath.Join(dir, "s2")+string(filepath.Separator)
	doc := decode[writtenDoc](t, program(t, "data", "synth", "s2", "--seed", "3", "--out", native, "--json").
		want(t, exitDone))
	if doc.Events != 100_000 || doc.Nodes != 7 {
		t.Errorf("got %+v", doc)
	}
	same := decode[writtenDoc](t, program(t, "data", "synth", "S2", "--seed", "3", "--out", layout, "--json").
		want(t, exitDone))
	if same.Hash != doc.Hash {
		t.Errorf("same seed, other events: %s and %s", doc.Hash, same.Hash)
	}
	for _, x := range []string{native, layout} {
		info := decode[infoDoc](t, program(t, "data", "info", x, "--brief", "--json").want(t, exitDone))
		if info.Hash != doc.Hash {
			t.Errorf("%s: read back with hash %s, written with %s", x, info.Hash, doc.Hash)
		}
	}
	shop := filepath.Join(t.TempDir(), "shop.dgm")
	made := decode[writtenDoc](t, program(t, "data", "synth", "shop", "--events", "2000", "--users", "90",
		"--items", "30", "--out", shop, "--json").want(t, exitDone))
	if made.Events != 2000 || made.Nodes != 120 || made.Name != "shop" {
		t.Errorf("%+v", made)
	}
	program(t, "data", "synth", "shop", "--pairs", "42").want(t, exitUsage, "--pairs cannot be used with shop")
	program(t, "data", "synth", "s1", "--users", "42").want(t, exitUsage, "--users cannot be used with s1")
	program(t, "data", "synth", "shop", "--out", t.TempDir()).want(t, exitUsage, "as a .dgm file")
	program(t, "data", "synth", "shop", "--events", "0", "--out", shop).want(t, exitUsage, "--events 0")
	program(t, "data", "synth", "s4").want(t, exitUsage, `no generated data set "s4"; there are s1, s2, s3`)
	program(t, "data", "synth", "s1", "--pairs", "12", "--out", native).
		want(t, exitUsage, "12 pairs, want 49, 42 or 21")
	program(t, "data", "synth", "s1", "--ids", "odd", "--out", native).want(t, exitUsage, "odd")
}

func TestDataList(t *testing.T) {
	program(t, "data", "list", "--data-dir", t.TempDir()).want(t, exitDone).
		shows(t, "lastfm", "1,293,103", "generated when used")
	doc := decode[listDoc](t, program(t, "data", "list", "--json", "--data-dir", t.TempDir()).want(t, exitDone))
	if len(doc.Data) < 17 {
		t.Errorf("%d data sets, want all 17", len(doc.Data))
	}
}

func TestMissingData(t *testing.T) {
	dir := t.TempDir()
	program(t, "data", "info", "uci", "--data-dir", dir).want(t, exitBadInput, "data fetch uci")
	program(t, "data", "info", "ucy", "--data-dir", dir).want(t, exitUsage, `no data set "ucy"`, "did you mean uci?")
	program(t, "data", "info", filepath.Join(dir, "x.dgm")).want(t, exitBadInput, "x.dgm")
	program(t, "data", "info").want(t, exitUsage, "needs a data set")
	program(t, "data", "info", "a", "b").want(t, exitUsage, `found "b" too`)
}

// Downloads are package dataset's to test; here only what the program says when there is nothing to fetch.
func TestFetchRefuses(t *testing.T) {
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	r := program(t, "data", "fetch", "uci", "--from", empty.URL, "--data-dir", t.TempDir(), "--json").
		want(t, exitFailed, "404")
	if doc := decode[failure](t, r); doc.Error.Kind != "failed" {
		t.Errorf("got %+v", doc.Error)
	}
	program(t, "data", "fetch", "nosuch").want(t, exitUsage, "nosuch")
	program(t, "data", "fetch").want(t, exitUsage, "needs the name")
}

// Statistics go through all events: an interruption after the set was opened does not wait for that.
func TestInfoInterrupted(t *testing.T) {
	a := newApp(strings.NewReader(""), io.Discard, io.Discard)
	set, err := a.openSet(t.Context(), synthetic(t), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inform(ctx, a, set, false); !errors.Is(err, context.Canceled) {
		t.Errorf("statistics end with %v", err)
	}
}
