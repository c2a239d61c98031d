package main

import (
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shop is a directory with a table, the data set made of it, and a table of what came later.
func shop(t *testing.T) (dir, data, later string) {
	t.Helper()
	lines := []string{"who,what,when,kind,price"}
	for _, day := range []string{"01", "02", "03", "04", "05", "06", "07", "08", "09", "10"} {
		lines = append(lines, "ann,tea,2024-05-"+day+",hot,1."+day, "bob,ice,2024-05-"+day+",cold,")
	}
	path, dir := tableFile(t, "visits.csv", lines...)
	data, later = filepath.Join(dir, "visits.dgm"), filepath.Join(dir, "june.csv")
	program(t, "data", "import", path, "--src", "who", "--dst", "what", "--time", "when", "--bipartite", "--features",
		"kind,price",
		"--out", data).want(t, exitDone)
	text := "price,who,what,when,kind\n1.5,zoe,tea,2024-06-01,hot\n,ann,pie,2024-05-03,new\n"
	if err := os.WriteFile(later, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, data, later
}

// A damaged block is bad input, named with file, section and block, whoever reads it.
func TestDamagedData(t *testing.T) {
	dir, data, later := shop(t)
	raw, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	raw[0x80] ^= 1 // the first section, features of events
	if err := os.WriteFile(data, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"data", "check", data}, {"data", "info", data}, {"data", "append", data, later},
		{"data", "export", data, "--out", filepath.Join(dir, "x.csv")}, {"eval", "--model", "edgebank", "--data", data},
		{"train", "--data", data, "--out", filepath.Join(dir, "run"), "--max-time", "1s"}} {
		program(t, args...).want(t, exitBadInput, data, "section edge features, block 0", "the file is damaged")
	}
	if now, _ := os.ReadFile(data); string(now) != string(raw) {
		t.Error("a damaged file was replaced")
	}
}

func TestDataAppend(t *testing.T) {
	_, data, later := shop(t)
	before := decode[infoDoc](t, program(t, "data", "info", data, "--json").want(t, exitDone))
	got := decode[appendDoc](t, program(t, "data", "append", data, later, "--json").want(t, exitDone))
	if got.Added != 2 || got.Events != 22 || got.NewNodes != 2 || got.Nodes != 6 || got.Late != 1 || got.Known != 0 ||
		!strings.HasPrefix(got.spanDoc.Last, "2024-06-01") || got.Columns.Source != "who" {
		t.Errorf("got %+v", got)
	}
	after := decode[infoDoc](t, program(t, "data", "info", data, "--json").want(t, exitDone))
	if after.Events != 22 || after.Hash == before.Hash || after.Encoding.FittedUntil != before.Encoding.FittedUntil {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	raw, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	program(t, "data", "append", data, later).want(t, exitBadInput, "found only events that",
		"--again to have them twice")
	program(t, "data", "append", data).want(t, exitUsage, "needs a .dgm file and a table")
	program(t, "data", "append", data, data).want(t, exitUsage, "cannot append")
	program(t, "data", "append", data, later, "--time", "never").want(t, exitBadInput, "found no column never")
	program(t, "data", "append", later, data).want(t, exitBadInput, "want a native .dgm file")
	if now, _ := os.ReadFile(data); string(now) != string(raw) {
		t.Error("a refused table has changed the file")
	}
	program(t, "data", "append", data, later, "--again").want(t, exitDone, "it is there twice now").shows(t,
		"added 2 events", "24 now")
}

// A model trained on what was there goes on with what came, and ranks nodes it has never seen.
func TestAppendThenPredict(t *testing.T) {
	r := trainedRun(t)
	raw, err := os.ReadFile(r.data)
	if err != nil {
		t.Fatal(err)
	}
	path, dir := tableFile(t, "more.csv", "src,dst,time", "u1,newcomer,100000", "u2,newcomer,100001")
	data := filepath.Join(dir, "periodic.dgm")
	if err := os.WriteFile(data, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	old := program(t, "predict", "--run", r.run, "--data", data, "--u", "u1", "--i", "v3", "--ts", "500",
		"--json").want(t, exitDone)
	program(t, "data", "append", data, path).want(t, exitDone)
	now := program(t, "predict", "--run", r.run, "--data", data, "--u", "u1", "--i", "v3", "--ts", "500",
		"--json").want(t, exitDone)
	if old.out != now.out {
		t.Errorf("an answer about the past was\n%s\nand is\n%s", old.out, now.out)
	}
	program(t, "predict", "--run", r.run, "--data", data, "--u", "u1", "--ts", "200000", "--best", "11").want(t,
		exitDone).
		shows(t, "the most likely of 11 candidates", "newcomer")
}

// What was exported and imported again, by the command that is given, is the same data set.
func TestDataExport(t *testing.T) {
	dir, data, later := shop(t)
	program(t, "data", "append", data, later).want(t, exitDone)
	for _, name := range []string{"a.csv", "b.csv.gz", "c.parquet"} {
		out := filepath.Join(dir, name)
		doc := decode[exportDoc](t, program(t, "data", "export", data, "--out", out, "--json").want(t, exitDone))
		if doc.Events.Rows != 22 || doc.Events.File != out || !slices.Contains(doc.Events.Columns, "kind") {
			t.Errorf("%+v", doc)
		}
		back := filepath.Join(dir, name+".dgm")
		program(t, append(doc.Import[1:], "--out", back)...).want(t, exitDone)
		again := filepath.Join(dir, "again.csv")
		program(t, "data", "export", back, "--out", again).want(t, exitDone)
		first, second := readTable(t, filepath.Join(dir, "a.csv")), readTable(t, again)
		if first != second {
			t.Errorf("%s: exported\n%s\nand again\n%s", name, first, second)
		}
	}
	if got := program(t, "data", "export", data).want(t, exitDone); got.out != readTable(t,
		filepath.Join(dir, "a.csv")) {
		t.Errorf("standard output has\n%s", got.out)
	}
	packed, err := os.Open(filepath.Join(dir, "b.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != readTable(t, filepath.Join(dir, "a.csv")) {
		t.Errorf("%v: %s", err, text)
	}
	for want, args := range map[string][]string{
		"unknown file ending":    {data, "--out", filepath.Join(dir, "x.xls")},
		"is the data set itself": {data, "--out", linkTo(t, data, filepath.Join(dir, "same.csv"))},
		"want two files":         {data, "--out", "x.csv", "--nodes", "./x.csv"},
		"have no features": {data, "--out", filepath.Join(dir, "x.csv"), "--nodes",
			filepath.Join(dir, "n.csv")},
		"there is no directory":            {data, "--out", filepath.Join(dir, "none", "x.csv")},
		"would both go to standard output": {data, "--json"},
	} {
		program(t, append([]string{"data", "export"}, args...)...).want(t, exitUsage, want)
	}
}

func readTable(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func linkTo(t *testing.T, path, name string) string {
	t.Helper()
	if err := os.Link(path, name); err != nil {
		t.Skipf("what exports refuse is not tested: a file cannot have two names here (%v)", err)
	}
	return name
}

func TestShellWord(t *testing.T) {
	words := []string{"a", "a b", "it's", "kind#1,kind=x", "$HOME", ""}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skipf("quoting is not tested: there is no shell to read the words (%v)", err)
	}
	for _, word := range words {
		got, err := exec.Command("sh", "-c", "printf %s "+shellWord(word)).Output()
		if err != nil || string(got) != word {
			t.Errorf("%q becomes %q (%v)", word, got, err)
		}
	}
}

func TestDataSlice(t *testing.T) {
	dir, data, _ := shop(t)
	out := filepath.Join(dir, "part.dgm")
	program(t, "data", "slice", data, "--from", "2024-05-03", "--to", "2024-05-05", "--out", out).want(t,
		exitDone).shows(t, "4 events between 4 nodes")
	info := decode[infoDoc](t, program(t, "data", "info", out, "--json", "--brief").want(t, exitDone))
	if info.Events != 4 || info.Name != "part" || info.Encoding == nil ||
		!strings.HasPrefix(info.spanDoc.Last, "2024-05-04") {
		t.Errorf("%+v", info)
	}
	program(t, "data", "slice", data, "--from", "2024-05-10", "--out", out).want(t, exitDone).shows(t, "2 events")
	for want, args := range map[string][]string{
		"needs --from, --to or both":                {"--out", out},
		"--out is missing":                          {"--from", "2024-05-03"},
		"is the data set itself":                    {"--from", "2024-05-03", "--out", data},
		"is not before --to":                        {"--from", "2024-05-03", "--to", "2024-05-03", "--out", out},
		"in this time range; visits goes from 2024": {"--from", "2030-05-03", "--out", out},
		`--to: found "soon"`:                        {"--to", "soon", "--out", out},
	} {
		program(t, append([]string{"data", "slice", data}, args...)...).want(t, exitUsage, want)
	}
	program(t, "data", "slice", trainedRun(t).data, "--from", "2024-05-03", "--out", out).want(t, exitUsage,
		"want a finite number, in the unit of the data")
}
