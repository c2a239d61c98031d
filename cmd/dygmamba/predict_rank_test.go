package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/rankbench"
)

type rankedAnswer struct {
	Items []struct {
		I           string
		Logit       float32
		Probability float64
		Meetings    int
	}
	Candidates int
	U          string
	TS         float64
}

func TestRankOne(t *testing.T) {
	r := trainedRun(t)
	got := program(t, "predict", "--run", r.run, "--device", "cpu", "--u", "u1", "--ts", "500", "--best", "4", "--json")
	var answer rankedAnswer
	if err := json.Unmarshal([]byte(got.want(t, exitDone).out), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Items) != 4 || answer.Candidates != 10 || answer.U != "u1" || answer.TS != 500 {
		t.Fatalf("got %s", got.out)
	}
	for i, x := range answer.Items {
		if i > 0 && x.Logit > answer.Items[i-1].Logit || !strings.HasPrefix(x.I, "v") {
			t.Errorf("place %d is %+v", i+1, x)
		}
		rows := answers(t, program(t, "predict", "--run", r.run, "--device", "cpu",
			"--queries", queryFile(t, "u,i,ts", "u1,"+x.I+",500")).want(t, exitDone).out)
		if want := fmt.Sprint(x.Logit); rows[0][3] != want || rows[0][4] != fmt.Sprint(x.Probability) {
			t.Errorf("%s has %v, asked alone %v", x.I, x, rows[0])
		}
	}
	text := program(t, "predict", "--run", r.run, "--u", "u1", "--ts", "500", "--best", "4").want(t, exitDone)
	for _, want := range []string{"u1 at 500: the most likely of 10 candidates", answer.Items[0].I, "met before", "×"} {
		if !strings.Contains(text.out, want) {
			t.Errorf("%q is missing in\n%s", want, text.out)
		}
	}
}

// allArgs rank for all sources of the small run.
func allArgs(t *testing.T, out string, more ...string) []string {
	return append([]string{"predict", "--run", trainedRun(t).run, "--device", "cpu", "--best", "3", "--all",
		"--out", out}, more...)
}

// TestRankAll: the table of all sources has what each has when it is asked about alone, as CSV and as Parquet.
func TestRankAll(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "best.csv")
	var doc allDoc
	got := program(t, allArgs(t, out, "--ts", "500", "--json")...).want(t, exitDone)
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || doc.Sources == 0 || doc.Rows != 3*doc.Sources ||
		doc.Rate <= 0 {
		t.Fatalf("%v in %s", err, got.out)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	const columns = "u,ts,place,i,logit,probability,meetings"
	if err != nil || len(rows) != 1+doc.Rows || strings.Join(rows[0], ",") != columns {
		t.Fatalf("%v, %d rows in %s", err, len(rows), text)
	}
	var lines []string
	for i := 1; i < len(rows); i += 3 {
		lines = append(lines, rows[i][0]+",500")
	}
	one := program(t, "predict", "--run", trainedRun(t).run, "--device", "cpu", "--best", "3", "--queries",
		queryFile(t, append([]string{"u,ts"}, lines...)...)).want(t, exitDone)
	if one.out != string(text) {
		t.Errorf("asked by source:\n%s\nof all:\n%s", one.out, text)
	}
	if _, err := os.Stat(out + ".partial"); err == nil {
		t.Error("the journal is left")
	}
	other := filepath.Join(dir, "best.parquet")
	program(t, allArgs(t, other, "--ts", "500")...).want(t, exitDone).shows(t, "sources per second")
	if info, err := os.Stat(other); err != nil || info.Size() == 0 {
		t.Errorf("Parquet: %v", err)
	}
}

// TestRankAllResumes: what was interrupted is continued, to the same bytes, by the same question alone.
func TestRankAllResumes(t *testing.T) {
	dir := t.TempDir()
	whole, out := filepath.Join(dir, "whole.csv"), filepath.Join(dir, "best.csv")
	program(t, allArgs(t, whole)...).want(t, exitDone)
	interrupted := func(steps int, more ...string) result {
		ctx := &shortLived{Context: t.Context()}
		ctx.left.Store(int64(steps))
		return programIn(ctx, "", allArgs(t, out, append(more, "--json")...)...)
	}
	steps := 1
	for ; steps < 1000; steps++ { // until something is in the journal
		interrupted(steps, "--resume").want(t, exitInterrupted)
		if info, err := os.Stat(out + ".partial"); err == nil && info.Size() > 400 {
			break
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("an interrupted command leaves a file that looks whole")
	}
	program(t, allArgs(t, out)...).want(t, exitUsage, "--resume")
	program(t, allArgs(t, out, "--resume", "--exact")...).want(t, exitUsage, "other settings")
	var doc allDoc
	got := program(t, allArgs(t, out, "--resume", "--json")...).want(t, exitDone)
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || doc.Continued == 0 || doc.Sources <= doc.Continued {
		t.Errorf("%v in %s", err, got.out)
	}
	a, _ := os.ReadFile(whole)
	b, _ := os.ReadFile(out)
	if len(a) == 0 || string(a) != string(b) {
		t.Errorf("continued:\n%s\nat once:\n%s", b, a)
	}
}

// TestRankAllNext: so has the table of a model of the task next, of shares and rates, also when it was interrupted.
func TestRankAllNext(t *testing.T) {
	run, dir := trainedNext(t), t.TempDir()
	out, other := filepath.Join(dir, "best.csv"), filepath.Join(dir, "best.parquet")
	args := func(out string, more ...string) []string {
		return append([]string{"predict", "--run", run, "--device", "cpu", "--best", "3", "--all", "--ts", "500",
			"--out", out}, more...)
	}
	ctx := &shortLived{Context: t.Context()}
	for steps := int64(8); ; steps++ {
		ctx.left.Store(steps)
		programIn(ctx, "", args(out, "--resume")...).want(t, exitInterrupted)
		if info, err := os.Stat(out + ".partial"); err == nil && info.Size() > 400 {
			break
		}
	}
	doc := decode[allDoc](t, program(t, args(out, "--resume", "--json")...).want(t, exitDone))
	if doc.Continued == 0 || doc.Sources <= doc.Continued || doc.Rows != 3*doc.Sources || doc.Scored < 5 {
		t.Errorf("%+v", doc)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	rows := table(t, string(text))
	if !strings.HasPrefix(string(text), "u,ts,place,i,share,rate,meetings\n") {
		t.Errorf("columns of\n%s", text)
	}
	asked := []string{"u,ts"}
	for i := 0; i < len(rows); i += 3 {
		asked = append(asked, rows[i][0]+",500")
	}
	one := program(t, "predict", "--run", run, "--device", "cpu", "--best", "3", "--queries", queryFile(t, asked...)).
		want(t, exitDone)
	if one.out != string(text) {
		t.Errorf("asked by source:\n%s\nof all:\n%s", one.out, text)
	}
	program(t, args(other)...).want(t, exitDone).shows(t, "sources per second")
	program(t, args(other, "--candidates", out)...).want(t, exitUsage, "--candidates is for models of links")
}

func TestRankAllRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "best.csv")
	for _, more := range [][]string{{"--u", "u1"}, {"--queries", out}, {"--out", ""}, {"--ts", "noon"}} {
		program(t, allArgs(t, out, more...)...).want(t, exitUsage)
	}
	program(t, "predict", "--run", trainedRun(t).run, "--all", "--out", out).want(t, exitUsage, "--best")
}

// shortLived is a context that ends when it was asked often enough whether it has.
type shortLived struct {
	context.Context
	left atomic.Int64
}

func (s *shortLived) Err() error {
	if s.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Before anything happened there is nobody to rank.
func TestRankNobody(t *testing.T) {
	args := []string{"predict", "--run", trainedRun(t).run, "--u", "u1", "--ts", "-1", "--best", "4"}
	program(t, args...).want(t, exitDone).shows(t, "u1 at -1: there are no destinations before this time")
	if got := program(t, append(args, "--json")...).want(t, exitDone); !strings.Contains(got.out, `"items": []`) {
		t.Error(got.out)
	}
}

// A file of questions, in any order of time, is answered in its own order, among the candidates of another file.
func TestRankFile(t *testing.T) {
	r := trainedRun(t)
	questions := queryFile(t, "ts,u", "700,u3", "300,u1", "900,u3")
	candidates := filepath.Join(t.TempDir(), "menu.txt")
	if err := os.WriteFile(candidates, []byte("v3\nv1\n v3\nstranger\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "best.csv")
	args := []string{"predict", "--run", r.run, "--queries", questions, "--best", "2", "--candidates", candidates,
		"--device", "cpu"}
	table := program(t, args...).want(t, exitDone)
	written := program(t, append(args, "--out", out)...).want(t, exitDone)
	raw, err := os.ReadFile(out)
	if err != nil || string(raw) != table.out || !strings.Contains(written.out, "the best 2 for 3 questions") {
		t.Errorf("the file has %q (%v), standard output %q; said %q", raw, err, table.out, written.out)
	}
	if !strings.Contains(table.err, "1 node is not in the data") || !strings.Contains(table.err, "stranger") {
		t.Errorf("no warning about the stranger: %s", table.err)
	}
	rows, err := csv.NewReader(strings.NewReader(table.out)).ReadAll()
	if err != nil || len(rows) != 7 || strings.Join(rows[0], ",") != "u,ts,place,i,logit,probability,meetings" {
		t.Fatalf("%v in %s", err, table.out)
	}
	for i, row := range rows[1:] {
		q := [][2]string{{"u3", "700"}, {"u1", "300"}, {"u3", "900"}}[i/2]
		known := strings.Contains("v3 v1 stranger", row[3])
		if row[0] != q[0] || row[1] != q[1] || row[2] != strconv.Itoa(i%2+1) || !known {
			t.Errorf("row %d is %v", i, row)
		}
	}
	var doc struct{ Rankings []rankedAnswer }
	got := program(t, append(args, "--json")...).want(t, exitDone)
	err = json.Unmarshal([]byte(got.out), &doc)
	if err != nil || len(doc.Rankings) != 3 || doc.Rankings[1].Candidates != 3 {
		t.Fatalf("%v in %s", err, got.out)
	}
	if got := doc.Rankings[2].Items[1]; fmt.Sprint(got.Logit) != rows[6][4] || got.I != rows[6][3] {
		t.Errorf("JSON has %+v, the table %v", got, rows[6])
	}
}

func TestRankRefuses(t *testing.T) {
	r := trainedRun(t)
	questions := queryFile(t, "u,ts", "u1,300")
	empty := queryFile(t)
	wide := queryFile(t, "v1,v2")
	noTime := queryFile(t, "u,i", "u1,v1")
	one := []string{"--u", "u1", "--ts", "5", "--best", "3"}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "--best is 0, must be at least 1", []string{"--u", "u1", "--ts", "5", "--best", "0"}},
		{exitUsage, "a single query needs both --u and --ts", []string{"--u", "u1", "--best", "3"}},
		{exitUsage, "--best and --i cannot", []string{"--u", "u1", "--i", "v1", "--ts", "5", "--best", "3"}},
		{exitUsage, "--best and --within cannot", append(one, "--within", "1h")},
		{exitUsage, "cannot explain", append(one, "--explain", "-")},
		{exitUsage, "--candidates needs --best", []string{"--queries", questions, "--candidates", questions}},
		{exitUsage, "cannot be used with --u", append(one, "--queries", questions)},
		{exitUsage, "--queries is missing: want a file with the columns u and ts", []string{"--best", "3"}},
		{exitUsage, "is the file with the candidates", append(one, "--candidates", wide, "--out", wide)},
		{exitBadInput, `column ts: found "soon"`, []string{"--u", "u1", "--ts", "soon", "--best", "3"}},
		{exitBadInput, "want one for the time", []string{"--queries", noTime, "--best", "3"}},
		{exitBadInput, "found no names", append(one, "--candidates", empty)},
		{exitBadInput, "line 1 (row 1): found 2 columns; want one name in each", append(one, "--candidates", wide)},
		{exitBadInput, "no such file", append(one, "--candidates", "nowhere.txt")},
	} {
		got := program(t, append([]string{"predict", "--run", r.run, "--device", "cpu"}, c.args...)...).want(t, c.code)
		if !strings.Contains(got.err, c.want) {
			t.Errorf("%v: %s, want %q", c.args, got.err, c.want)
		}
	}
}

// Questions whom a source meets come in every form that can be imported too, and keep their other columns.
func TestRankKeepsColumns(t *testing.T) {
	r := trainedRun(t)
	questions := queryFile(t, `{"who": "u1", "when": 900, "shop": "north"}`, `{"who": "u2", "when": 900, "place": 7}`)
	args := []string{"predict", "--run", r.run, "--device", "cpu", "--queries", questions, "--src", "who", "--time",
		"when", "--best", "2"}
	lines := strings.Split(program(t, args...).want(t, exitDone).out, "\n")
	if lines[0] != "u,ts,place,i,logit,probability,meetings,shop,query_place" || !strings.HasSuffix(lines[1],
		",north,") || !strings.HasSuffix(lines[3], ",,7") {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	doc := decode[rankDoc](t, program(t, append(args, "--json")...).want(t, exitDone))
	if len(doc.Rankings) != 2 || doc.Rankings[0].Extra["shop"] != "north" {
		t.Errorf("got %+v", doc)
	}
}

// TestRankMany: of many candidates those that are likely to be among the best are scored, or all with --exact; bench
// rank compares the two.
func TestRankMany(t *testing.T) {
	dir := t.TempDir()
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 20, Targets: 600, Events: 4000})
	if err != nil {
		t.Fatal(err)
	}
	data, out := filepath.Join(dir, "many.dgm"), filepath.Join(dir, "run")
	if err := dataset.Save(data, set); err != nil {
		t.Fatal(err)
	}
	program(t, "train", "--data", data, "--model", "graphmixer", "--out", out, "--device", "cpu", "--set",
		"num_epochs=1", "--set", "time_feat_dim=8", "--set", "num_neighbors=2", "--set", "node_feat_dim=8", "--set",
		"edge_feat_dim=8").want(t, exitDone)
	type answer struct {
		rankedAnswer
		Scored int
	}
	args := []string{"predict", "--run", out, "--device", "cpu", "--u", "u1", "--ts", "4000", "--best", "5", "--json"}
	fast := decode[answer](t, program(t, args...).want(t, exitDone))
	exact := decode[answer](t, program(t, append(args, "--exact")...).want(t, exitDone))
	if fast.Scored < 5 || fast.Scored > fast.Candidates || exact.Scored != exact.Candidates ||
		exact.Candidates != fast.Candidates {
		t.Errorf("scored %d of %d, with --exact %d of %d", fast.Scored, fast.Candidates, exact.Scored, exact.Candidates)
	}
	if len(fast.Items) != 5 || len(exact.Items) != 5 {
		t.Errorf("%d and %d items, want 5", len(fast.Items), len(exact.Items))
	}
	report := decode[rankbench.Report](t, program(t, "bench", "rank", "--run", out, "--device", "cpu", "--queries", "4",
		"--json").want(t, exitDone))
	if report.Queries != 4 || report.Recall < 0.5 || report.Scored > report.Candidates || !(report.Fast.Mean > 0) {
		t.Errorf("%+v", report)
	}
	program(t, "bench", "rank", "--run", out, "--device", "cpu", "--queries", "2", "--candidates", "100").
		want(t, exitDone).shows(t, "100.00 % of the best are found")
	program(t, "predict", "--run", out, "--u", "u1", "--ts", "1", "--i", "v1", "--exact").
		want(t, exitUsage, "--exact needs --best")
}
