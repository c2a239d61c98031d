package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file is what its ending says, or it is refused before anything is measured.
func TestEndings(t *testing.T) {
	dir, data := copied(t)
	small, at := trainedRun(t), func(name string) string { return filepath.Join(t.TempDir(), name) }
	one := []string{"predict", "--run", small.run, "--u", "u1", "--ts", "500", "--best", "2", "--device", "cpu",
		"--out"}
	file := []string{"predict", "--run", small.run, "--queries", queryFile(t, "u,i,ts", "u1,v1,500"), "--device", "cpu",
		"--out"}
	for _, tt := range []struct {
		args  []string
		name  string
		holds []string
	}{
		{[]string{"compare", small.run, dir, "--data", data, "--device", "cpu", "--out"}, "x.tex",
			[]string{`\toprule`, `\begin{tabular}`}},
		{one, "x.parquet", []string{"PAR1"}},
		{file, "x.parquet", []string{"PAR1"}},
		{one, "X.CSV", []string{"u,ts,place,i,"}},
	} {
		path := at(tt.name)
		program(t, append(tt.args, path)...).want(t, exitDone)
		for _, want := range tt.holds {
			if raw := content(t, path); !bytes.Contains(raw, []byte(want)) {
				t.Errorf("%s: %s has no %q:\n%.300s", tt.args[0], tt.name, want, raw)
			}
		}
	}
	for _, tt := range []struct {
		args []string
		name string
		want string
	}{
		{[]string{"compare", small.run, dir, "--data", data, "--out"}, "x.pdf", ".html, .md, .csv, .json, .tex"},
		{one, "x.tsv", ".csv, .parquet"},
		{file, "x.xlsx", ".csv, .parquet"},
		{[]string{"predict", "--run", small.run, "--u", "u1", "--i", "v1", "--ts", "500", "--plot"}, "x.png", ".svg"},
		{[]string{"report", small.run, "--data", data, "--out"}, "x.md", ".html"},
		{[]string{"embed", small.run, "--out"}, "x.csv", ".parquet, .npy"},
		{[]string{"data", "export", data, "--out"}, "x.xls", ".csv, .csv.gz, .parquet"},
		{[]string{"demo", "--out"}, "x.txt", ".html"},
		{[]string{"bench", "neighbors", "--data", data, "--plot"}, "x.png", ".svg"},
	} {
		path := at(tt.name)
		program(t, append(tt.args, path)...).want(t, exitUsage, "want one of "+tt.want)
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%v wrote %s", tt.args, tt.name)
		}
	}
}

// The table of compare has the same numbers in every format.
func TestCompareFormats(t *testing.T) {
	dir, data := copied(t)
	args := []string{"compare", trainedRun(t).run, dir, "--data", data, "--device", "cpu", "--out"}
	at := func(name string) string { return filepath.Join(filepath.Dir(dir), name) }
	for _, name := range []string{"x.csv", "x.md"} {
		program(t, append(args, at(name))...).want(t, exitDone)
	}
	rows, err := csv.NewReader(bytes.NewReader(content(t, at("x.csv")))).ReadAll()
	if err != nil || len(rows) != 3 || strings.Join(rows[0][:4], ",") != "run,model,seeds,AP" {
		t.Fatalf("%v: %v", rows, err)
	}
	if text := string(content(t, at("x.md"))); strings.Count(text, "\n| ") != 3 || !strings.Contains(text, "+0.00") {
		t.Errorf("as Markdown:\n%s", text)
	}
}
