package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/client"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/report"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// small trains a model on a stream in which pairs meet periodically, and returns the data file and the directory.
func small(t *testing.T, name string, args ...string) (data, dir string) {
	t.Helper()
	at := t.TempDir()
	data, dir = filepath.Join(at, "periodic.dgm"), filepath.Join(at, "run")
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 600, Seed: 7})
	if err == nil {
		err = dataset.Save(data, set)
	}
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"train", "--model", name, "--data", data, "--out", dir, "--device", "cpu",
		"--set", "num_neighbors=4", "--set", "node_feat_dim=8", "--set", "edge_feat_dim=8", "--set", "time_feat_dim=8",
		"--set", "num_epochs=2"}, args...)
	program(t, args...).want(t, exitDone)
	return data, run.SeedDir(dir, 0)
}

func openSet(t *testing.T, path string) *dataset.Set {
	t.Helper()
	set, err := dataset.Open(t.Context(), path, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

// measured is the AP of a run on a data set, through everything that measures one.
func measured(t *testing.T, data, dir string) map[string]float64 {
	t.Helper()
	here := []string{"--data", data, "--device", "cpu", "--json"}
	command := decode[evalDoc](t, program(t, append(here, "eval", "--run", dir, "--setting", "transductive",
		"--negatives", "random")...).want(t, exitDone))
	page := decode[report.Report](t, program(t, append(here, "report", dir, "--cases", "0",
		"--out", filepath.Join(t.TempDir(), "page.html"))...).want(t, exitDone))
	return map[string]float64{"library": alone(t, data, dir), "eval": float64(command.Results[0].AP),
		"report": page.Measured.AP}
}

// A memory of other events than those at hand is made anew, whoever measures.
func TestGrownDataMeasuredAlike(t *testing.T) {
	data, dir := small(t, "tgn")
	at := measured(t, data, dir)
	compared := decode[audit.Comparison](t, program(t, "compare", dir, dir, "--data", data, "--device", "cpu",
		"--json").want(t, exitDone))
	at["compare"] = compared.Runs[0].AP
	result, err := run.ReadResult(dir)
	if err != nil {
		t.Fatal(err)
	}
	for who, ap := range at {
		if ap != result.Results[0].AP {
			t.Errorf("%s measures AP %v, the training had %v", who, ap, result.Results[0].AP)
		}
	}
	program(t, "audit", dir, "--data", data, "--device", "cpu", "--no-stamp").want(t, exitDone)
	older := lone(t, dir, run.DataHashKey, run.SplitHashKey, run.SamplingKey)
	for _, weights := range []string{lone(t, dir), older} {
		if ap := alone(t, data, weights); ap != result.Results[0].AP {
			t.Errorf("the checkpoint alone measures AP %v, the training had %v", ap, result.Results[0].AP)
		}
	}

	rows := []string{"src,dst,time"}
	for i := range 200 {
		rows = append(rows, fmt.Sprintf("u%d,v%d,%d", 1+i%10, 1+i*i%7, 100000+i))
	}
	more, _ := tableFile(t, "more.csv", rows...)
	program(t, "data", "append", data, more).want(t, exitDone)
	at = measured(t, data, dir)
	for who, ap := range at {
		if ap != at["library"] {
			t.Errorf("%s measures AP %v, the library %v", who, ap, at["library"])
		}
	}
	program(t, "audit", dir, "--data", data, "--device", "cpu", "--no-stamp").want(t, exitFailed)
	program(t, "compare", dir, dir, "--data", data, "--device", "cpu").want(t, exitBadInput, "trained on other data")
	if ap := alone(t, data, lone(t, dir)); ap != at["library"] {
		t.Errorf("the checkpoint alone measures AP %v, its run %v", ap, at["library"])
	}
}

// lone is a copy of a run's checkpoint without its run, and without some of its metadata.
func lone(t *testing.T, dir string, without ...string) string {
	t.Helper()
	f, err := checkpoint.Load(filepath.Join(dir, run.CheckpointFile))
	for _, key := range without {
		delete(f.Meta, key)
	}
	path := filepath.Join(t.TempDir(), "lone.safetensors")
	if err == nil {
		err = checkpoint.Save(path, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// alone is the AP of a trained model through the library.
func alone(t *testing.T, data, path string) float64 {
	t.Helper()
	o := dygmamba.EvaluateOptions{Scenarios: []protocol.Scenario{protocol.Transductive},
		Strategies: []protocol.Negatives{protocol.RandomNegatives}}
	o.Set = openSet(t, data)
	r, err := dygmamba.Evaluate(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r[0].AP
}

// A run draws its random neighbours as in training, whoever asks.
func TestRunsKeepTheirSampling(t *testing.T) {
	data, dir := small(t, "cawn", "--sampling", string(protocol.Reference), "--set", "position_feat_dim=8",
		"--set", "num_walk_heads=2")
	var asked []dygmamba.Query // the events of the test, one batch: negatives are drawn for after them
	var logits []float32
	o := dygmamba.EvaluateOptions{Scenarios: []protocol.Scenario{protocol.Transductive},
		Strategies: []protocol.Negatives{protocol.RandomNegatives}}
	o.Set = openSet(t, data)
	o.Protocol.OnAnswers = func(a eval.Answers) {
		asked, logits = append(asked, a.Queries[:a.Paired]...), append(logits, a.Logits[:a.Paired]...)
	}
	o.Protocol.Sampling = protocol.Reference
	told, err := dygmamba.Evaluate(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Protocol = eval.Options{}
	again, err := dygmamba.Evaluate(t.Context(), dir, o)
	if err != nil || again[0].AP != told[0].AP {
		t.Errorf("AP %v and %v (%v) without being told how to draw", told[0].AP, again[0].AP, err)
	}
	lines := []string{"u,i,ts"}
	for _, q := range asked {
		name := o.Set.Names.Name
		lines = append(lines, fmt.Sprintf("%s,%s,%s", name(q.Src), name(q.Dst),
			strconv.FormatFloat(q.Time, 'g', -1, 64)))
	}
	queries := queryFile(t, lines...)
	for _, from := range [][]string{
		{"--run", dir}, {"--run", dir, "--data", data}, {"--checkpoint", filepath.Join(dir, run.CheckpointFile)},
	} {
		got := answers(t, program(t, append(from, "predict", "--queries", queries, "--device", "cpu")...).
			want(t, exitDone).out)
		differ := 0
		for i, row := range got {
			if logit, _ := strconv.ParseFloat(row[3], 32); float32(logit) != logits[i] {
				differ++
			}
		}
		if len(got) != len(logits) || differ > 0 {
			t.Errorf("%v: %d of %d answers differ from those of the evaluation", from, differ, len(logits))
		}
	}
	q := asked[0] // alone, so that the draws of no other query come before its own
	o.Sampling = protocol.Reference
	p, err := dygmamba.Load(dir, o.LoadOptions)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want, err := p.Score(t.Context(), []dygmamba.Query{q})
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.New(served(t, "--run", dir)).Score(t.Context(),
		client.At(o.Set.Names.Name(q.Src), o.Set.Names.Name(q.Dst), q.Time))
	if err != nil || got.Scores[0].Logit != want[0] {
		t.Errorf("the server answers %+v (%v), want a logit of %v", got, err, want[0])
	}
}

// served starts a server in this process and returns its address. It ends with the test.
func served(t *testing.T, args ...string) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said, done := newListener("listening on "), make(chan int, 1)
	go func() {
		args := append([]string{"serve", "--device", "cpu", "--listen", "127.0.0.1:0"}, args...)
		done <- launch(ctx, args, strings.NewReader(""), io.Discard, said)
	}()
	t.Cleanup(func() { cancel(); <-done })
	select {
	case url = <-said.found:
	case code := <-done:
		done <- code
		t.Fatalf("serve ended with %d: %s", code, said.text)
	}
	return url
}
