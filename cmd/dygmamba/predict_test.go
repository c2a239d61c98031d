package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// smallRun is a narrow model, trained for a second on a periodic stream whose nodes are called u1 … u10 and v1 … v10.
type smallRun struct {
	dir, data, run string
	err            error
}

var makeSmallRun = sync.OnceValue(func() (r smallRun) {
	if r.dir, r.err = os.MkdirTemp("", "dygmamba-cmd-*"); r.err != nil {
		return r
	}
	r.data, r.run = filepath.Join(r.dir, "periodic.dgm"), filepath.Join(r.dir, "run")
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 900, Seed: 5})
	if err == nil {
		err = dataset.Save(r.data, set)
	}
	if r.err = err; err != nil {
		return r
	}
	args := []string{"train", "--data", r.data, "--out", r.run, "--device", "cpu"}
	for _, s := range []string{"channel_embedding_dim=8", "time_feat_dim=16", "max_input_sequence_length=12",
		"patch_size=2", "max_interaction_times=4", "node_feat_dim=8", "edge_feat_dim=8", "num_epochs=1",
		"batch_size=100"} {
		args = append(args, "--set", s)
	}
	if got := programIn(context.Background(), "", args...); got.code != exitDone {
		r.err = fmt.Errorf("train: %s", got.err)
	}
	r.run = run.SeedDir(r.run, 0)
	return r
})

func TestMain(m *testing.M) {
	runAsChild()
	code := m.Run()
	if r := makeSmallRun(); r.dir != "" {
		os.RemoveAll(r.dir)
	}
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

func trainedRun(t *testing.T) smallRun {
	t.Helper()
	r := makeSmallRun()
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r
}

func queryFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "q.csv")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A query that is not after the last event is bad input in the order of arrival, and says in which row it is.
func TestPredictTooEarly(t *testing.T) {
	dir := t.TempDir()
	data, run := filepath.Join(dir, "d.dgm"), filepath.Join(dir, "run")
	program(t, "data", "import", queryFile(t, "src,dst,time", "a,b,100", "b,a,2000000", "a,b,12086729", "b,a,12086729"),
		"--out", data).want(t, exitDone)
	program(t, "train", "--data", data, "--model", "tgn", "--order", "arrival", "--device", "cpu", "--out", run,
		"--set", "num_epochs=1", "--set", "node_feat_dim=8", "--set", "time_feat_dim=8").want(t, exitDone)
	args := []string{"predict", "--run", run, "--device", "cpu", "--queries", queryFile(t, "u,i,ts", "a,b,12086730",
		"a,b,12086728")}
	program(t, args...).want(t, exitBadInput, `q.csv: line 3 (row 2), column ts: found "12086728"; `+
		`want a time after the last event, 12086729: tgn remembers`)
	program(t, append(args, "--order", "strict")...).want(t, exitDone)
	program(t, "predict", "--run", run, "--device", "cpu", "--u", "a", "--i", "b", "--ts", "100").
		want(t, exitBadInput, "it is at 100, the last event at 12086729")
}

// answers parses a table of answers.
func answers(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 || !strings.HasPrefix(strings.Join(rows[0], ",")+",", "u,i,ts,logit,probability,") {
		t.Fatalf("%v in %q", err, text)
	}
	for _, row := range rows[1:] {
		logit, err1 := strconv.ParseFloat(row[3], 32)
		probability, err2 := strconv.ParseFloat(row[4], 64)
		if err1 != nil || err2 != nil || probability != (*calibration.Map)(nil).Probability(float32(logit)) {
			t.Errorf("row %v: the logit does not read back as the one that has this probability", row)
		}
	}
	return rows[1:]
}

// The released program's weights give its probabilities.
func TestPredictAsReleased(t *testing.T) {
	dir := golden.Shared(t, "spec", "golden", "predict-dygmamba-enron")
	var about struct {
		Dataset string
		First   int `json:"first_events"`
		Config  struct{ L, K int }
	}
	raw, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err == nil {
		err = json.Unmarshal(raw, &about)
	}
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(t.Context(), about.Dataset, dataset.Options{DataDir: golden.Shared(t, "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	first := *set
	first.Log = set.Log.Select(func(i int) bool { return i < about.First })
	first.Node.Rows, first.Edge.Rows = first.Log.NumNodes(), about.First+1
	for _, f := range []*dataset.Features{&first.Node, &first.Edge} {
		f.Data = f.Data[:min(len(f.Data), f.Rows*f.Cols)]
	}
	data := filepath.Join(t.TempDir(), about.Dataset)
	if err := dataset.SaveDyGLib(data, &first); err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"200", "17"} {
		r := program(t, "predict", "--checkpoint", filepath.Join(dir, "weights.safetensors"), "--data", data,
			"--device", "cpu", "--model", "dygmamba", "--set", fmt.Sprint("max_input_sequence_length=", about.Config.L),
			"--set", fmt.Sprint("max_interaction_times=", about.Config.K), "--set", "batch_size="+size,
			"--queries", filepath.Join(dir, "queries.csv")).want(t, exitDone)
		got := answers(t, r.out)
		f, err := os.Open(filepath.Join(dir, "expected.csv"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil || len(got) != len(want)-1 || len(got) < 100 {
			t.Fatalf("%d answers, want %d (%v)", len(got), len(want)-1, err)
		}
		worst := 0.0
		for i, row := range want[1:] {
			p, _ := strconv.ParseFloat(got[i][4], 64)
			q, _ := strconv.ParseFloat(row[1], 64)
			worst = max(worst, math.Abs(p-q))
		}
		if !(worst <= 1e-4) {
			t.Errorf("batches of %s: a probability is off by %v", size, worst)
		}
		t.Logf("%d probabilities, off by at most %.1e", len(got), worst)
	}
}

// Queries come in any order of rows and columns, about strangers and the future; answers keep their order.
func TestPredict(t *testing.T) {
	r := trainedRun(t)
	queries := queryFile(t, "label,ts,i,u", "1,700.5,v3,u2", "0,99999999,v1,u10", `0,12,v2,"a, stranger"`,
		"0, 1e2 ,v4, u4 ", "1,700.5,v3,u2")
	out := filepath.Join(t.TempDir(), "s.csv")
	got := program(t, "predict", "--run", r.run, "--data", r.data, "--device", "cpu",
		"--queries", queries, "--out", out).
		want(t, exitDone, "1 node is not in the data and has no history (in 1 query)", "a, stranger").
		shows(t, "wrote", "5 queries")
	raw, err := os.ReadFile(out)
	if err != nil || strings.Contains(got.out, "logit") {
		t.Fatalf("%v, standard output %q", err, got.out)
	}
	rows := answers(t, string(raw))
	if header, _, _ := strings.Cut(string(raw), "\n"); header != "u,i,ts,logit,probability,label" ||
		rows[0][5] != "1" ||
		rows[1][5] != "0" {
		t.Errorf("the other column is not kept: %s, %v", header, rows)
	}
	want := [][3]string{{"u2", "v3", "700.5"}, {"u10", "v1", "99999999"}, {"a, stranger", "v2", "12"},
		{"u4", "v4", "1e2"}, {"u2", "v3", "700.5"}}
	for i, row := range rows {
		if [3]string(row[:3]) != want[i] {
			t.Errorf("row %d is about %v, want %v", i, row[:3], want[i])
		}
	}
	if !slices.Equal(rows[0], rows[4]) || rows[0][3] == rows[1][3] {
		t.Errorf("answers %v", rows)
	}
	// The same from standard input to standard output, in any batches.
	text, err := os.ReadFile(queries)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"1", "3", "500"} {
		again := programIn(t.Context(), string(text), "predict",
			"--checkpoint", filepath.Join(r.run, "checkpoint.safetensors"), "--data", r.data, "--device", "cpu",
			"--queries", "-", "--set", "batch_size="+size, "--threads", "1").want(t, exitDone)
		if again.out != string(raw) {
			t.Errorf("batches of %s answer\n%s, want\n%s", size, again.out, raw)
		}
	}
	doc := decode[predictDoc](t, program(t, "predict", "--run", r.run, "--data", r.data, "--device", "cpu",
		"--queries", queries, "--json").want(t, exitDone))
	if len(doc.Results) != 5 || doc.Unknown.Count != 1 || doc.Unknown.Queries != 1 || doc.Model != "dygmamba" ||
		fmt.Sprint(doc.Results[1].Logit) != rows[1][3] ||
		doc.Results[0].Extra["label"] != "1" {
		t.Errorf("got %+v", doc)
	}
	program(t, "predict", "--run", r.run, "--device", "cpu", "--queries", queryFile(t, "u,i,ts", "u1,v1,5", "v3,u2,5")).
		want(t, exitDone, "in 1 of 2 queries u is a destination of the data and i a source, such as v3 and u2: "+
			"are u and i swapped?")
	empty := program(t, "predict", "--run", r.run, "--data", r.data, "--device", "cpu",
		"--queries", queryFile(t, "u,i,ts")).want(t, exitDone)
	if len(answers(t, empty.out)) != 0 {
		t.Errorf("no queries gave %q", empty.out)
	}
	empty = program(t, "predict", "--run", r.run, "--data", r.data, "--device", "cpu",
		"--queries", queryFile(t, "u,i,ts"), "--json").want(t, exitDone)
	if doc := decode[map[string]any](t, empty); doc["results"] == nil {
		t.Errorf("no queries gave no list of results: %v", doc)
	}
}

func TestPredictBadInput(t *testing.T) {
	r := trainedRun(t)
	out := filepath.Join(t.TempDir(), "s.csv")
	do := func(args ...string) result {
		return program(t, append([]string{"predict", "--run", r.run, "--data", r.data, "--device", "cpu", "--out", out},
			args...)...)
	}
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"values", []string{"u,i,ts", "u1,v1,5", "u1,,5", "u2,v2,soon", "u2,v2,NaN", "u2,v2", "u1,v1,2024-05-01"},
			[]string{
				"5 problems", `q.csv: line 3 (row 2), column i: found ""; want a node's name`,
				`q.csv: line 4 (row 3), column ts: found "soon"; want a finite number`, "line 5 (row 4)",
				"line 6 (row 5): found 2 columns; want 3", "line 7 (row 6), column ts"}},
		{"no column", []string{"u,x,ts", "1,2,3"},
			[]string{"q.csv: found the columns u, x, ts; want one for the destination, called for example i or dst, " +
				"or named by --dst"}},
		{"column twice", []string{"u,i,ts,u", "1,2,3,4"}, []string{"line 1: found column u twice"}},
		{"quotes", []string{"u,i,ts", `"a"b,2,3`}, []string{"line 2 (row 1)", "quotes around whole fields"}},
		{"no header", []string{"u1,v1,5"}, []string{"found the columns u1, v1, 5", "needs --no-header"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := do("--queries", queryFile(t, tt.lines...)).want(t, exitBadInput, tt.want...); got.out != "" {
				t.Errorf("standard output has %q", got.out)
			}
		})
	}
	blank := filepath.Join(t.TempDir(), "blank.csv")
	if err := os.WriteFile(blank, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	do("--queries", blank).want(t, exitBadInput, "found no column names")
	do("--queries", blank+".none").want(t, exitBadInput, "blank.csv.none")
	do("--u", "u1", "--i", "v1", "--ts", "later").want(t, exitBadInput, `command line, column ts: found "later"`)
	var many []string
	for range 100 {
		many = append(many, "u1,v1,x")
	}
	do("--queries", queryFile(t, append([]string{"u,i,ts"}, many...)...)).
		want(t, exitBadInput, "100 problems", "and 80 more")
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 0 {
		t.Errorf("bad input left %v, %v", left, err)
	}
	problems := decode[failure](t, do("--queries", queryFile(t, "u,i,ts", "u1,v1,x"), "--json").
		want(t, exitBadInput)).Error.Problems
	if len(problems) != 1 || problems[0].Column != "ts" || *problems[0].Row != 1 || problems[0].Line != 2 {
		t.Errorf("got %+v", problems)
	}
}

func TestPredictUsage(t *testing.T) {
	r := trainedRun(t)
	q, weights := queryFile(t, "u,i,ts", "u1,v1,5"), filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(weights, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args string
		want string
	}{
		{"", "--queries is missing"},
		{"--queries " + q, "--checkpoint is missing"},
		{"--queries " + q + " --run a --checkpoint b", "cannot be used together"},
		{"--run " + r.run + " --queries " + q + " --u u1", "cannot be used with --u"},
		{"--run " + r.run + " --u u1 --ts 5", "all of --u, --i and --ts"},
		{"--run " + r.run + " --u u1 --i v1 --ts 5 --src who", "--src needs --queries"},
		{"--run " + r.run + " --queries " + q + " --format jodie", "--format is"},
		{"--run " + r.run + " --queries " + q + " --explain -", "both go to standard output"},
		{"--run " + r.run + " --queries " + q + " --out " + q, "is the file with the queries"},
		{"--checkpoint " + weights + " --data " + r.data + " --queries " + q + " --explain " + weights,
			"is the file with the weights"},
		{"--run " + r.run + " --data " + r.data + " --queries " + q + " --out " + r.data, "is the file with the data"},
		{"--run " + r.run + " --queries " + q + " --out both --explain ./both", "want two different files"},
		{"--run " + r.run + " --queries " + q + " --out /no/such/dir/s.csv", "there is no directory"},
		{"--run " + r.run + " --queries " + q + " --out .", "--out . is a directory, want a file"},
		{"--run " + r.run + " --queries " + q + " --top -1", "--top is -1"},
		{"--run " + r.run + " --queries " + q + " --data " + r.data + " --set nope=1 --device cpu", `no key "nope"`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			program(t, append([]string{"predict"}, strings.Fields(tt.args)...)...).want(t, exitUsage, tt.want)
		})
	}
}

// A checkpoint that does not fit is bad input, and so is a damaged one.
func TestPredictMisfits(t *testing.T) {
	r := trainedRun(t)
	q := queryFile(t, "u,i,ts", "u1,v1,5")
	do := func(args ...string) result {
		return program(t, append([]string{"predict", "--data", r.data, "--device", "cpu", "--queries", q}, args...)...)
	}
	do("--run", r.run, "--set", "channel_embedding_dim=16").
		want(t, exitBadInput, "does not fit", "0.neighbor_co_occurrence_encoder")
	do("--run", r.run, "--model", "dygmamba-a").want(t, exitBadInput, "it is of dygmamba")
	do("--run", r.run, "--set", "dropout=3").want(t, exitUsage, "dropout is 3")
	raw, err := os.ReadFile(filepath.Join(r.run, "checkpoint.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.safetensors")
	if err := os.WriteFile(cut, raw[:len(raw)-9], 0o644); err != nil {
		t.Fatal(err)
	}
	do("--checkpoint", cut).want(t, exitBadInput, "cut.safetensors", "corrupt checkpoint")
	do("--checkpoint", q).want(t, exitBadInput, "corrupt checkpoint")
	for model, want := range map[string]string{"dygmamba-z": "unknown model \"dygmamba-z\"",
		"": "element 0 of parameter"} {
		f, err := checkpoint.Load(filepath.Join(r.run, "checkpoint.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if f.Meta["model"] = model; model == "" {
			f.Meta["model"], f.Tensors[0].Data[0] = "dygmamba", float32(math.NaN())
		}
		if err := checkpoint.Save(cut, f); err != nil {
			t.Fatal(err)
		}
		do("--checkpoint", cut).want(t, exitBadInput, "cut.safetensors", want)
	}
	do("--checkpoint", cut+".none").want(t, exitBadInput, "cut.safetensors.none")
	do("--run", t.TempDir()).want(t, exitBadInput, "after its first epoch")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	programIn(ctx, "", "predict", "--run", r.run, "--data", r.data, "--device", "cpu", "--queries", q).
		want(t, exitInterrupted)
}

func TestPredictExplains(t *testing.T) {
	r := trainedRun(t)
	why, out := filepath.Join(t.TempDir(), "why.jsonl"), filepath.Join(t.TempDir(), "s.csv")
	queries := queryFile(t, "u,i,ts", "u2,v3,300.5", "nobody,v1,310", "u1,v1,0.5")
	flags := []string{"predict", "--run", r.run, "--data", r.data, "--device", "cpu",
		"--queries", queries, "--out", out}
	program(t, append(flags, "--explain", why, "--top", "2")...).want(t, exitDone).shows(t, "why.jsonl")
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	rows := answers(t, string(raw))
	text, err := os.ReadFile(why)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	n := 0
	for ; lines.Scan(); n++ {
		var e struct {
			U, I        string
			TS          float64
			Logit       float32
			Gaps        []float64
			Without     *predict.Effect `json:"without_gaps"`
			Source      predict.Side
			Destination predict.Side
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		if e.U != rows[n][0] || e.I != rows[n][1] || fmt.Sprint(e.Logit) != rows[n][3] || e.Source.Name != e.U ||
			e.Destination.Name != e.I || len(e.Source.Patches) != 7 {
			t.Errorf("line %d: %+v, answer %v", n+1, e, rows[n])
		}
		withheld := 0
		for _, p := range e.Source.Patches {
			if p.Without != nil {
				withheld++
			}
			for _, ev := range p.Events {
				if !strings.HasPrefix(ev.Name, "v") || ev.Time >= e.TS || ev.Edge < 1 {
					t.Errorf("line %d: event %+v", n+1, ev)
				}
			}
		}
		want := []int{2, 0, 0}[n]
		if withheld != want || (len(e.Gaps) > 0) != (n == 0) || (e.Without != nil) != (n == 0) {
			t.Errorf("line %d: %d patches withheld, gaps %v", n+1, withheld, e.Gaps)
		}
	}
	if n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
	if r := program(t, append(flags, "--explain", "-")...).want(t, exitDone); strings.Count(r.out, "\n") != 3 {
		t.Errorf("standard output %q", r.out)
	}
	one := []string{"predict", "--run", r.run, "--data", r.data, "--device", "cpu", "--u", "u2", "--i", "v3",
		"--ts", "300.5"}
	program(t, one...).want(t, exitDone).shows(t, "u2 and v3 at 300.5:", "%")
	program(t, append(one, "--explain", "-")...).want(t, exitDone).
		shows(t, "u2 and v3 at 300.5:", "the last", "oldest first", "in logit)", "weight %", "without the gaps",
			"had they never met", "u2, 11 events", "before all of them")
	doc := decode[predictDoc](t, program(t, append(one, "--explain", "-", "--json")...).want(t, exitDone))
	if len(doc.Explanations) != 1 || len(doc.Explanations[0].Gaps) == 0 || len(doc.Results) != 1 {
		t.Errorf("got %+v", doc)
	}
}

// A trained run is measured as its training measured it; several seeds are put together.
func TestEvalOfRun(t *testing.T) {
	r := trainedRun(t)
	result, err := os.ReadFile(filepath.Join(r.run, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var reported struct {
		Results []struct {
			Setting   protocol.Scenario
			Negatives protocol.Negatives
			AP, AUC   float64
		}
	}
	if err := json.Unmarshal(result, &reported); err != nil {
		t.Fatal(err)
	}
	doc := decode[evalDoc](t, program(t, "eval", "--run", r.run, "--data", r.data, "--device", "cpu", "--json").
		want(t, exitDone))
	if len(doc.Results) != 6 || len(reported.Results) != 2 || doc.Model != "dygmamba" || doc.BatchSize != 100 ||
		doc.Summary != nil {
		t.Fatalf("got %+v", doc)
	}
	for _, want := range reported.Results {
		i := slices.IndexFunc(doc.Results, func(x resultDoc) bool {
			return x.Scenario == want.Setting && x.Negatives == want.Negatives
		})
		if i < 0 || float64(doc.Results[i].AP) != want.AP || float64(doc.Results[i].AUC) != want.AUC ||
			!doc.Results[i].Best {
			t.Errorf("measured %+v, reported %+v", doc.Results, want)
		}
	}
	program(t, "eval", "--checkpoint", filepath.Join(r.run, "checkpoint.safetensors"), "--data", r.data,
		"--device", "cpu", "--negatives", "random").want(t, exitDone).
		shows(t, "dygmamba on periodic", "setting       negatives       AP      AUC    ECE\n",
			"transductive", "inductive")

	seeds := t.TempDir()
	for _, name := range []string{"seed-0", "seed-1"} {
		if err := os.CopyFS(filepath.Join(seeds, name), os.DirFS(r.run)); err != nil {
			t.Fatal(err)
		}
	}
	both := decode[evalDoc](t, program(t, "eval", "--run", seeds, "--data", r.data, "--device", "cpu",
		"--negatives", "random", "--json").want(t, exitDone))
	if len(both.Results) != 4 || both.Results[0].Best || len(both.Summary) != 2 ||
		both.Results[1].Variant != "seed-1" || both.Summary[0].Runs != 2 ||
		math.Abs(both.Summary[0].AP-float64(both.Results[0].AP)) > 1e-12 || both.Summary[0].APStd > 1e-9 {
		t.Errorf("got %+v and %+v", both.Results, both.Summary)
	}
	program(t, "eval", "--run", seeds, "--data", r.data, "--device", "cpu",
		"--setting", "transductive", "--num-negatives", "3").
		want(t, exitDone).shows(t, "seed-0", "mean of 2", "± 0.00", "MRR", "Hits@K in percent, among 3 negatives")
	if err := os.Remove(filepath.Join(seeds, "seed-1", "result.json")); err != nil {
		t.Fatal(err)
	}
	warned := program(t, "eval", "--run", seeds, "--data", r.data, "--device", "cpu",
		"--setting", "transductive", "--negatives", "random").
		want(t, exitDone, filepath.Join(seeds, "seed-1")+" is unfinished")
	if strings.Contains(warned.err, "seed-0") {
		t.Errorf("a finished run is complained about:\n%s", warned.err)
	}

	other := filepath.Join(t.TempDir(), "other.dgm")
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 500})
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.Save(other, set); err != nil {
		t.Fatal(err)
	}
	program(t, "eval", "--run", r.run, "--data", other, "--device", "cpu", "--negatives", "random").
		want(t, exitDone, "are not those that the model was trained on")
}

func TestPlainNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 16736182: "16736182", 1700000000.128: "1700000000.13", 0.0123456789: "0.0123457", 55.599998: "55.6",
		-1234.5: "-1234.5", 1e20: "1e+20",
	} {
		if got := term.Number(x); got != want {
			t.Errorf("%v is shown as %s, want %s", x, got, want)
		}
	}
}
