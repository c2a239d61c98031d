package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// trainedNext trains a model of the task next for a moment, once, and returns its directory.
func trainedNext(t *testing.T) string {
	t.Helper()
	out := filepath.Join(trainedRun(t).dir, "next")
	if _, err := os.Stat(out); err == nil {
		return out
	}
	program(t, "train", "--task", "next", "--data", trainedRun(t).data, "--out", out, "--device", "cpu",
		"--set", "num_epochs=2", "--set", "batch_size=100", "--set", "learning_rate=0.01").
		want(t, exitDone, "bits val ", "returning", "  best").
		shows(t, "countnet, preset standard", "by validation", "bits per event", "first meetings")
	return out
}

func TestTrainNext(t *testing.T) {
	out, data := trainedNext(t), trainedRun(t).data
	program(t, "train", "--resume", "--out", out, "--device", "cpu").want(t, exitDone).shows(t, "best epoch")
	for args, want := range map[string]string{
		"--task next --model edgebank":            "edgebank cannot learn the task next: it has nothing to learn",
		"--task next --model tgn --order arrival": "order arrival is not for the task next",
		"--task link --model countnet":            "countnet cannot learn the task link: it learns next",
		"--task soon":                             `--task is "soon"`,
	} {
		program(t, append([]string{"train", "--data", data, "--device", "cpu"}, strings.Fields(args)...)...).
			want(t, exitUsage, want)
	}
}

// Who names neither model, task nor settings learns the task next on imported data, and links on others.
func TestTrainByData(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 600, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "visits.dgm")
	if err := dataset.Save(file, set); err != nil {
		t.Fatal(err)
	}
	set.Sampling = protocol.Reference
	published := filepath.Join(t.TempDir(), "published.dgm")
	if err := dataset.Save(published, set); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, model string }{
		{file, "countnet"}, {file + " --runs 2", "countnet"}, {file + " --task link", "dygmamba"},
		{file + " --preset quick", "dygmamba"}, {file + " --set num_epochs=1", "dygmamba"},
		{file + " --order strict --model tgn", "tgn"}, {published, "dygmamba"},
	} {
		out := filepath.Join(t.TempDir(), "run")
		args := append([]string{"train", "--device", "cpu", "--max-time", "3s", "--out", out, "--data"},
			strings.Fields(tt.args)...)
		r := program(t, append(args, "--json")...).want(t, exitDone)
		if sum := decode[run.Summary](t, r); sum.Model != tt.model {
			t.Errorf("train --data %s learned %s, want %s", tt.args, sum.Model, tt.model)
		}
		if told := strings.Contains(r.err, "the default for imported data"); told != (tt.model == "countnet") {
			t.Errorf("train --data %s said:\n%s", tt.args, r.err)
		}
	}
}

// A run of the task next has a page, and can be compared with others of its task.
func TestReportAndCompareNext(t *testing.T) {
	out, data := trainedNext(t), trainedRun(t).data
	page := filepath.Join(t.TempDir(), "next.html")
	program(t, "report", out, "--data", data, "--device", "cpu", "--out", page).want(t, exitDone).
		shows(t, "bits per event", page)
	if text := string(content(t, page)); !strings.Contains(text, "Who is the next destination?") {
		t.Errorf("the page does not say who is next:\n%.400s", text)
	}
	other := filepath.Join(t.TempDir(), "other")
	program(t, "train", "--task", "next", "--data", data, "--out", other, "--device", "cpu", "--seed", "3",
		"--set", "num_epochs=1", "--set", "rate_trees=0").want(t, exitDone)
	args := []string{"compare", out, other, "--data", data, "--device", "cpu"}
	program(t, args...).want(t, exitDone).shows(t, "bits", "first meetings", "difference", "better in")
	doc := decode[audit.NextComparison](t, program(t, append(args, "--json")...).want(t, exitDone))
	if len(doc.Runs) != 2 || len(doc.Differences) != 1 || len(doc.Runs[0].Blocks) == 0 ||
		doc.Runs[1].Seeds[0].Seed != 3 {
		t.Fatalf("document %+v", doc)
	}
	if d, want := doc.Differences[0].Bits, doc.Runs[1].Bits-doc.Runs[0].Bits; math.Abs(d-want) > 0.2 || d*want < 0 {
		t.Errorf("blocks differ by %v bits, the runs by %v", d, want)
	}
	program(t, "compare", out, trainedRun(t).run, "--data", data, "--device", "cpu").
		want(t, exitUsage, "learned different tasks")
}

func TestTrainKindsWithoutKinds(t *testing.T) {
	program(t, "train", "--data", trainedRun(t).data, "--task", "kind", "--device", "cpu").
		want(t, exitBadInput, "fewer than two kinds; data import --kind")
}

// A time limit that leaves hardly any time to learn when sources act makes rates rough, but there are some.
func TestTrainNextInNoTime(t *testing.T) {
	out := filepath.Join(t.TempDir(), "next")
	program(t, "train", "--task", "next", "--data", trainedRun(t).data, "--out", out, "--device", "cpu",
		"--max-time", "1s").want(t, exitDone).shows(t, "cut short", "bits per event")
	doc := decode[struct {
		Rate   *float64
		Within *struct{ Window, Probability, Expected float64 }
	}](t, program(t, "predict", "--run", out, "--u", "1", "--i", "2", "--ts", "100000000", "--within", "3600", "--json",
		"--device", "cpu").want(t, exitDone))
	if doc.Rate == nil || doc.Within == nil || doc.Within.Window != 3600 {
		t.Errorf("got %+v", doc)
	}
}

// A sweep of the task next chooses the trial with the fewest bits.
func TestSweepNext(t *testing.T) {
	out := filepath.Join(t.TempDir(), "sweep")
	args := []string{"train", "--task", "next", "--data", trainedRun(t).data, "--out", out, "--device", "cpu", "--full",
		"--sweep", "learning_rate=0.00001,0.01", "--set", "num_epochs=2", "--set", "hidden_dim=8"}
	program(t, args...).want(t, exitDone).shows(t, "val bits", "chosen by bits per event", "first meetings")
	type trial struct {
		Settings []string
		Chosen   bool
		Runs     []struct {
			Scores []struct {
				Bits float64 `json:"who_bits"`
			}
		}
	}
	doc := decode[struct {
		Measure string
		Trials  []trial
	}](t, program(t, append(args, "--resume", "--json")...).want(t, exitDone))
	bits := func(x trial) float64 { return x.Runs[0].Scores[len(x.Runs[0].Scores)-1].Bits }
	if doc.Measure != "who_bits" || !doc.Trials[1].Chosen || !(bits(doc.Trials[1]) < bits(doc.Trials[0])) {
		t.Errorf("got %+v", doc)
	}
}

func TestEvalNext(t *testing.T) {
	out := trainedNext(t)
	type bits struct {
		Rule      string  `json:"rule"`
		WhoBits   float64 `json:"who_bits"`
		Returning float64 `json:"who_bits_returning"`
		First     float64 `json:"who_bits_first"`
		Share     float64 `json:"first_share"`
		MRR       float64 `json:"mrr"`
		Hits10    float64 `json:"hits_10"`
		Events    int     `json:"events"`
		Setting   string  `json:"setting"`
	}
	doc := decode[struct{ Results, Rules []bits }](t, program(t, "eval", "--run", out, "--protocol", "next",
		"--limit", "20", "--device", "cpu", "--json").want(t, exitDone))
	if len(doc.Results) != 1 || len(doc.Rules) != 3 || doc.Rules[0].Rule != "cache" || doc.Rules[2].Rule != "uniform" {
		t.Fatalf("got %+v", doc)
	}
	r := doc.Results[0]
	mean := r.Returning*(1-r.Share) + r.First*r.Share
	if r.Events != 20 || r.Setting != "transductive" || math.Abs(mean-r.WhoBits) > 1e-9 || !(r.MRR > 0) ||
		!(r.WhoBits < doc.Rules[2].WhoBits) {
		t.Errorf("got %+v", r)
	}
	program(t, "eval", "--run", out, "--device", "cpu").want(t, exitDone).
		shows(t, "countnet on periodic", "cache", "popularity", "uniform", "all test events")
	program(t, "eval", "--run", out, "--swap", "20", "--limit", "50", "--device", "cpu").want(t, exitDone).
		shows(t, "have the destination of another", "rule cache")
	program(t, "eval", "--run", out, "--swap", "1").want(t, exitUsage, "--swap is 1")
	program(t, "eval", "--run", out, "--protocol", "tgb", "--limit", "20", "--device", "cpu").want(t, exitDone).
		shows(t, "countnet", "as TGB measures", "MRR", "no node hidden")
	program(t, "eval", "--run", trainedRun(t).run, "--protocol", "next").want(t, exitUsage, "not trained on the task")
	program(t, "eval", "--run", trainedRun(t).run, "--limit", "3").want(t, exitUsage, "--limit is for --protocol")
	program(t, "eval", "--model", "edgebank", "--data", trainedRun(t).data, "--protocol", "next").
		want(t, exitUsage, "is for a run of the task next")
}

// A model of the task next answers questions about links. They are fair where hidden nodes were hidden from it.
func TestEvalNextAboutLinks(t *testing.T) {
	out, data := filepath.Join(t.TempDir(), "links"), trainedRun(t).data
	program(t, "train", "--task", "next", "--data", data, "--out", out, "--device", "cpu", "--set", "link_split=true",
		"--set", "num_epochs=1").want(t, exitDone)
	type row struct {
		Setting, Negatives string
		AP                 float64
		Positives          int
		FirstPositives     int `json:"first_positives"`
	}
	ask := func(run string) result {
		return program(t, "eval", "--run", run, "--protocol", "dyglib", "--negatives", "random", "--device", "cpu",
			"--json")
	}
	own := decode[struct {
		Results   []row
		Relations []struct{ First, Between float64 }
		Split     struct{ Hash string }
	}](t, ask(out).want(t, exitDone))
	if len(own.Results) != 2 || own.Results[0].Setting != "transductive" || !(own.Results[0].AP > 0.5) ||
		len(own.Relations) != 1 || own.Relations[0].First < 1 {
		t.Errorf("got %+v", own)
	}
	other := decode[struct {
		Results []row
		Split   struct{ Hash string }
	}](t, program(t, "eval", "--run", trainedRun(t).run, "--negatives", "random", "--device", "cpu", "--json"))
	if other.Split.Hash != own.Split.Hash || other.Results[0].Positives != own.Results[0].Positives {
		t.Errorf("asked about %+v, another model about %+v", own, other)
	}
	ask(trainedNext(t)).want(t, exitDone, "link_split=true")
}

// Shares sum to 1 with others and a new one, however many are listed.
func TestPredictNext(t *testing.T) {
	out := trainedNext(t)
	ask := func(args ...string) result {
		return program(t, append([]string{"predict", "--run", out, "--device", "cpu"}, args...)...)
	}
	for _, k := range []string{"1", "3", "100000"} {
		doc := decode[sharesDoc](t, ask("--u", "u2", "--ts", "700.5", "--best", k, "--json").want(t, exitDone))
		sum := doc.Others + doc.New
		for _, x := range doc.Items {
			sum += x.Share
		}
		if math.Abs(sum-1) > 1e-5 || k == "100000" && (doc.Others != 0 || len(doc.Items) != doc.Candidates) {
			t.Errorf("the best %s: %+v sum to %v", k, doc, sum)
		}
	}
	ask("--u", "u2", "--ts", "700.5", "--best", "2").want(t, exitDone).
		shows(t, "destination", "share %", "someone new", "sum to 100 %")
	one := decode[shareDoc](t, ask("--u", "u2", "--i", "v3", "--ts", "700.5", "--json").want(t, exitDone))
	if one.U != "u2" || one.I != "v3" || math.Abs(math.Exp2(-one.Bits)-one.Share) > 1e-12 || len(one.Reasons) == 0 {
		t.Errorf("got %+v", one)
	}
	ask("--u", "u2", "--i", "v3", "--ts", "700.5").want(t, exitDone).shows(t, "u2 acts at 700.5", " bits")
	pairs := queryFile(t, "u,i,ts,shop", "u2,v3,700.5,north", "u2,v3,20,south", "u2,nobody,700.5,")
	rows := table(t, ask("--queries", pairs).want(t, exitDone).out)
	docs := decode[struct{ Results []pairDoc }](t, ask("--queries", pairs, "--json").want(t, exitDone)).Results
	for i, doc := range docs {
		single := decode[shareDoc](t, ask("--u", doc.U, "--i", doc.I, "--ts", rows[i][2], "--json").want(t, exitDone))
		if share, err := strconv.ParseFloat(rows[i][3], 64); err != nil || share != doc.Share ||
			math.Abs(doc.Share-single.Share) > 1e-12 || doc.Rate == nil || !(*doc.Rate >= 0) {
			t.Errorf("row %d: %v, %+v, alone %+v (%v)", i, rows[i], doc, single, err)
		}
	}
	if len(rows) != 3 || len(docs) != 3 || rows[1][5] != "south" || docs[0].Extra["shop"] != "north" {
		t.Errorf("got %v and %+v", rows, docs)
	}
	many := ask("--queries", queryFile(t, "u,ts,shop", "u2,700.5,north", "nobody,3,south"), "--best", "2").
		want(t, exitDone, "1 node is not in the data")
	if rows := table(t, many.out); len(rows) != 4 || rows[0][5] == "" || rows[0][7] != "north" {
		t.Errorf("got %v", rows)
	}
	ask("--u", "u2", "--ts", "700.5", "--best", "2", "--candidates", queryFile(t, "i", "v3")).
		want(t, exitUsage, "among all")
	program(t, "predict", "--run", trainedRun(t).run, "--device", "cpu", "--u", "u2", "--i", "v3", "--ts", "300.5").
		want(t, exitDone).shows(t, "rather than the same source with a random destination")
}

func TestPredictSurprise(t *testing.T) {
	run, out := trainedNext(t), filepath.Join(t.TempDir(), "s.csv")
	q := queryFile(t, "u,i,ts,label", "u2,v3,700.5,1", "u2,u2,700.5,0", "stranger,v1,12,0")
	program(t, "predict", "--run", run, "--device", "cpu", "--surprise", "--queries", q, "--out", out).
		want(t, exitDone).shows(t, "the most surprising first", "why")
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if header, _, _ := strings.Cut(string(raw), "\n"); header != "u,i,ts,who_bits,when_nats,label" {
		t.Errorf("columns %s", header)
	}
	rows := table(t, string(raw))
	if len(rows) != 3 || rows[0][0] != "u2" || rows[2][0] != "stranger" || rows[0][3] == rows[1][3] {
		t.Errorf("got %v", rows)
	}
	doc := decode[struct{ Results []surpriseDoc }](t, program(t, "predict", "--run", run, "--device", "cpu",
		"--surprise", "--queries", q, "--json").want(t, exitDone))
	if len(doc.Results) != 3 || !slices.Contains(doc.Results[2].Reasons, "the source had no earlier event") {
		t.Errorf("got %+v", doc.Results)
	}
	program(t, "predict", "--run", run, "--surprise", "--queries", q, "--best", "3").want(t, exitUsage, "--best")
	program(t, "predict", "--run", trainedRun(t).run, "--device", "cpu", "--surprise", "--queries", q).
		want(t, exitUsage, "not trained on the task next")
}

// table is the rows of a CSV file below its header.
func table(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%v in %q", err, text)
	}
	return rows[1:]
}
