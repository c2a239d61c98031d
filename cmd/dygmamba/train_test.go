package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// narrow are the settings of a training that takes a moment.
var narrow = []string{"--device", "cpu", "--set", "channel_embedding_dim=4", "--set", "time_feat_dim=8",
	"--set", "max_input_sequence_length=8", "--set", "max_interaction_times=4", "--set", "node_feat_dim=8",
	"--set", "edge_feat_dim=8", "--set", "num_epochs=2", "--set", "batch_size=100", "--set", "learning_rate=0.001"}

// training is the command line of such a training.
func training(data string, args ...string) []string {
	return slices.Concat([]string{"train", "--data", data}, narrow, args)
}

// names lists a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func content(t *testing.T, parts ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTrain(t *testing.T) {
	data, out := trainedRun(t).data, filepath.Join(t.TempDir(), "run")
	r := program(t, training(data, "--out", out, "--tensorboard", "--test-every", "2")...).
		want(t, exitDone, "epoch 1  loss ", "AP/AUC val ", "epoch 2", "  test ", "  best")
	r.shows(t, "dygmamba, preset steady", "best epoch", "transductive", "inductive", "random")
	if strings.Contains(r.out, "paper") {
		t.Errorf("the paper says nothing about this data set:\n%s", r.out)
	}
	var boards int
	if want := []string{run.ResultFile, "seed-0"}; !slices.Equal(names(t, out), want) {
		t.Errorf("the directory has %v, want %v", names(t, out), want)
	}
	seed := filepath.Join(out, "seed-0")
	for _, name := range names(t, seed) {
		switch {
		case strings.HasPrefix(name, "events.out.tfevents."):
			boards++
		case !slices.Contains([]string{run.ConfigFile, run.LogFile, run.CheckpointFile, run.LastFile,
			run.ResultFile}, name):
			t.Errorf("the run directory has %s", name)
		}
	}
	if len(names(t, seed)) != 6 || boards != 1 {
		t.Errorf("the run directory has %v", names(t, seed))
	}
	if lines := bytes.Count(content(t, seed, run.LogFile), []byte("\n")); lines != 2 {
		t.Errorf("the log has %d lines, want 2", lines)
	}
	program(t, training(data, "--out", out)...).want(t, exitFailed, "holds a training already", "--resume")
}

func TestTrainSeveralSeeds(t *testing.T) {
	data, out := trainedRun(t).data, t.TempDir()
	r := program(t, training(data, "--out", out, "--runs", "2", "--seed", "4", "--json")...).
		want(t, exitDone, "seed 4  epoch 1", "seed 5  epoch 2")
	sum := decode[run.Summary](t, r)
	if want := []string{run.ResultFile, "seed-4", "seed-5"}; !slices.Equal(names(t, out), want) {
		t.Errorf("the run directory has %v, want %v", names(t, out), want)
	}
	if !slices.Equal(sum.Seeds, []uint64{4, 5}) || len(sum.Runs) != 2 || len(sum.Results) != 2 ||
		sum.Results[0].Runs != 2 || sum.Results[0].APStd <= 0 {
		t.Errorf("got %+v", sum)
	}
	if saved := content(t, out, run.ResultFile); string(saved) != r.out {
		t.Errorf("%s holds\n%s\nprinted was\n%s", run.ResultFile, saved, r.out)
	}
	// Both can be resumed, which changes nothing as they are finished, and the table shows how far they lie apart. The
	// seeds need not be said again.
	for _, seeds := range [][]string{{"--runs", "2", "--seed", "4"}, {"--runs", "2"}, nil} {
		resume := append([]string{"train", "--data", data, "--out", out, "--device", "cpu", "--resume"}, seeds...)
		program(t, resume...).want(t, exitDone).shows(t, " ± ", "seed 4", "seed 5")
	}
	// One more seed has the settings of the others.
	more := decode[run.Summary](t, program(t, "train", "--data", data, "--out", out, "--device", "cpu", "--resume",
		"--seed", "6", "--json").want(t, exitDone))
	if more.Runs[0].Seed != 6 || more.Runs[0].Params != sum.Runs[0].Params ||
		more.Runs[0].Epochs != sum.Runs[0].Epochs {
		t.Errorf("one more seed: %+v, want settings as of %+v", more.Runs[0], sum.Runs[0])
	}
}

// A finished training is made longer, one more seed is summed up with the others, and another model in the same
// directory is refused: by train, and by eval where someone brought it there.
func TestTrainDirectory(t *testing.T) {
	data, out := trainedRun(t).data, filepath.Join(t.TempDir(), "run")
	program(t, training(data, "--out", out, "--set", "num_epochs=1")...).want(t, exitDone)
	program(t, "train", "--resume", "--out", out, "--device", "cpu", "--set", "num_epochs=2").want(t, exitDone,
		"epoch 2").shows(t, "of 2 by validation AP")
	program(t, training(data, "--out", out, "--seed", "1")...).want(t, exitDone).shows(t,
		"next to seed 0; result.json summarizes all seeds")
	var sum run.Summary
	err := json.Unmarshal(content(t, out, run.ResultFile), &sum)
	if err != nil || !slices.Equal(sum.Seeds, []uint64{0, 1}) {
		t.Errorf("%s sums up seeds %v, %v", run.ResultFile, sum.Seeds, err)
	}
	program(t, training(data, "--out", out, "--seed", "2", "--model", "dygmamba-a")...).want(t, exitFailed,
		"model dygmamba and dygmamba-a")

	other := filepath.Join(t.TempDir(), "run")
	program(t, training(data, "--out", other, "--seed", "2", "--model", "dygmamba-a")...).want(t, exitDone)
	if err := os.Rename(filepath.Join(other, "seed-2"), filepath.Join(out, "seed-2")); err != nil {
		t.Fatal(err)
	}
	program(t, "eval", "--run", out, "--device", "cpu", "--negatives", "random").want(t, exitBadInput,
		"seed-0 and seed-2 are no seeds of one training")
	if err := os.Remove(filepath.Join(out, "seed-0", run.LastFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(out, "seed-2")); err != nil {
		t.Fatal(err)
	}
	program(t, "train", "--resume", "--out", out, "--device", "cpu").want(t, exitBadInput, "no last.safetensors")
	before := content(t, out, run.ResultFile)
	program(t, "eval", "--run", out, "--device", "cpu", "--out", out).want(t, exitUsage,
		"was not written by eval and would be overwritten")
	if string(before) != string(content(t, out, run.ResultFile)) {
		t.Error("eval wrote over the summary of a training")
	}
	for range 2 { // its own it may replace
		program(t, "eval", "--run", out+"/seed-1", "--device", "cpu", "--negatives", "random", "--out",
			other+"/eval").want(t, exitDone)
	}
}

// Many imported events on a CPU get the preset for a first look, and the command for the whole model. What decides is
// their number, and it can be overruled.
func TestTrainFirstLook(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		events int
		args   []string
		quick  bool
	}{{2000, nil, false}, {2001, nil, true}, {2001, []string{"--preset", "steady"}, false}} {
		set, err := dataset.Periodic(dataset.PeriodicOptions{Events: tt.events, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		set.Log = set.Log.Select(func(i int) bool { return i < tt.events })
		set.Edge.Rows = tt.events + 1
		file, out := filepath.Join(dir, "a file.dgm"),
			filepath.Join(dir, fmt.Sprintf("run-%d-%d", tt.events, len(tt.args)))
		if err := dataset.Save(file, set); err != nil {
			t.Fatal(err)
		}
		r := program(t, training(file, append(tt.args, "--set", "num_epochs=1", "--out", out)...)...).want(t, exitDone)
		line := fmt.Sprintf("using preset quick, for a first look at 2,001 imported events without a GPU; "+
			"full model: dygmamba train --data '%s' --preset steady", file)
		if strings.Contains(r.err, line) != tt.quick || strings.Contains(r.err, "--out "+out+"-steady") != tt.quick ||
			strings.Contains(r.out, "preset quick") != tt.quick {
			t.Errorf("%d events, %v:\n%s%s", tt.events, tt.args, r.err, r.out)
		}
		if tt.quick { // a run goes on as it began
			program(t, "train", "--resume", "--out", out, "--device", "cpu").want(t, exitDone).shows(t, "preset quick")
		}
	}
}

// A training that has only so long ends with what is the best so far, and with exit code 0.
func TestTrainMaxTime(t *testing.T) {
	data, out := trainedRun(t).data, filepath.Join(t.TempDir(), "run")
	args := training(data, "--out", out, "--set", "num_epochs=100000", "--set", "patience=100000", "--max-time", "2s")
	began := time.Now()
	sum := decode[run.Summary](t, program(t, append(args, "--json")...).want(t, exitDone, "the time limit ended epoch",
		"the best so far"))
	if spent := time.Since(began); spent > 30*time.Second {
		t.Errorf("2 s became %v", spent)
	}
	if r := sum.Runs[0]; r.Ended != run.EndedByTime || r.Epochs < 1 || len(r.Results) == 0 {
		t.Errorf("ended with %+v", r)
	}
	program(t, "eval", "--run", out, "--device", "cpu", "--negatives", "random").want(t, exitDone,
		"is cut short after epoch")
	program(t, "train", "--resume", "--out", out, "--device", "cpu", "--max-time", "1s").want(t, exitDone).shows(t,
		"cut short after epoch", "by --max-time, --resume continues")
	program(t, training(data, "--max-time", "1m", "--sweep", "dropout=0,0.1", "--out", t.TempDir())...).want(t,
		exitDone, "(trial 2 of 2)", "sweep: about")
	program(t, "train", "--data", data, "--max-time", "-1s").want(t, exitUsage, "--max-time is -1s")
}

// How long it may take is said once, as soon as it is known, and within what --max-time leaves.
func TestForesee(t *testing.T) {
	var log bytes.Buffer
	a := newApp(nil, nil, &log)
	w := &watcher{app: a, seeds: []uint64{4, 5, 6}}
	o := train.Outlook{Least: 20.5, Most: 199.5, Patience: 20, Epochs: 200}
	if text := w.foresee(4, o); text != "" || log.Len() > 0 {
		t.Errorf("before anything is known: %q, %q", text, log.String())
	}
	o.Epoch = 30 * time.Second
	if text := w.foresee(6, o); text != "run 10–100 min" {
		t.Errorf("one seed: %s", text)
	}
	if text := w.foresee(4, o); text != "run 31 min – 5 h" {
		t.Errorf("three seeds: %s", text)
	}
	w.until = time.Now().Add(20 * time.Minute)
	if text := w.foresee(4, o); text != "time limit in 20 min" {
		t.Errorf("20 minutes: %s", text)
	}
	want := "an epoch takes about 30.0 s; training stops after 20 epochs without improvement, " +
		"at most 200 epochs: 10–100 min\n"
	if log.String() != want {
		t.Errorf("said %q, want %q", log.String(), want)
	}
}

// A run knows its data: --data need not be said again, also when both were moved together, and it learns where they
// went.
func TestRunKnowsItsData(t *testing.T) {
	place := t.TempDir()
	at := func(path string) string { return filepath.Join(place, filepath.FromSlash(path)) }
	do := func(args ...string) result { return program(t, append(args, "--device", "cpu")...) }
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(at(from), at(to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(at("a/runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("a/visits.dgm"), content(t, trainedRun(t).data), 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, training(at("a/visits.dgm"), "--out", at("a/runs/x"))...).want(t, exitDone)
	if r, _ := run.Open(at("a/runs/x/seed-0")); r.Config.Path != "../../../visits.dgm" {
		t.Errorf("the configuration leads to %q", r.Config.Path)
	}
	question := []string{"predict", "--u", "u1", "--i", "v1", "--ts", "1e6"}

	// What lies there may have been exchanged: then nobody says that the model was trained on it.
	other, err := dataset.Periodic(dataset.PeriodicOptions{Events: 400, Seed: 9})
	if err == nil {
		err = dataset.Save(at("a/other.dgm"), other)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{append(question, "--run", at("a/runs/x")),
		{"eval", "--run", at("a/runs/x"), "--negatives", "random"}} {
		do(args...).want(t, exitDone, "visits.dgm, used for training the checkpoint")
		named := do(append(args, "--data", at("a/visits.dgm"))...).want(t, exitDone)
		if strings.Contains(named.err, "used for training") {
			t.Errorf("the same data, named: %s", named.err)
		}
		move("a/visits.dgm", "a/kept.dgm")
		move("a/other.dgm", "a/visits.dgm")
		r := do(args...).want(t, exitDone, "visits.dgm, at the place of the training data",
			"warning: the events or features of periodic are not those that the model was trained on")
		if strings.Contains(r.err, "used for training the checkpoint") {
			t.Errorf("exchanged data: %s", r.err)
		}
		move("a/visits.dgm", "a/other.dgm")
		move("a/kept.dgm", "a/visits.dgm")
	}

	move("a", "b")
	do("train", "--resume", "--out", at("b/runs/x")).want(t, exitDone)
	do("eval", "--run", at("b/runs/x"), "--negatives", "random").want(t, exitDone, at("b/visits.dgm"))
	do(append(question, "--checkpoint", at("b/runs/x/seed-0/checkpoint.safetensors"))...).
		want(t, exitDone, at("b/visits.dgm"))
	do(append(question, "--run", at("b/runs/x"), "--out", at("b/visits.dgm"))...).
		want(t, exitUsage, "is the file with the data")
	do(append(question, "--run", at("b/runs/x"), "--out", at("b/runs/x/seed-0/checkpoint.safetensors"))...).
		want(t, exitUsage, "is the file with the weights")

	move("b/visits.dgm", "visits.dgm")
	for _, args := range [][]string{{"train", "--resume", "--out", at("b/runs/x")},
		append(question, "--run", at("b/runs/x"))} {
		do(args...).want(t, exitUsage, "was read from "+at("b/visits.dgm")+", which does not exist; name it with")
	}
	do("train", "--resume", "--out", at("b/runs/x"), "--data", at("visits.dgm")).want(t, exitDone)
	do(append(question, "--run", at("b/runs/x"))...).want(t, exitDone, at("visits.dgm"))

	config := at("b/runs/x/seed-0/config.json")
	for text, want := range map[string]string{"{": "unexpected end", "{}": "no hash of the data",
		`{"model":"x","hashes":{"data":"1"}}`: `unknown model "x"`} {
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		do("train", "--resume", "--out", at("b/runs/x")).want(t, exitBadInput, config, want)
	}
}

// A run that is older than a setting goes on as it was, although it would begin with another value today.
func TestResumeOlderRun(t *testing.T) {
	data, out := trainedRun(t).data, filepath.Join(t.TempDir(), "run")
	program(t, training(data, "--out", out, "--set", "exact_times=false", "--set", "num_epochs=2")...).want(t, exitDone)
	file := filepath.Join(out, "seed-0", run.ConfigFile)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	older := regexp.MustCompile(`,\s*"exact_times": false`).ReplaceAll(raw, nil)
	if bytes.Equal(raw, older) {
		t.Fatalf("no exact_times in\n%s", raw)
	}
	if err := os.WriteFile(file, older, 0o644); err != nil {
		t.Fatal(err)
	}
	resume := []string{"train", "--data", data, "--out", out, "--device", "cpu", "--resume"}
	program(t, resume...).want(t, exitDone)
	program(t, append(resume, "--set", "exact_times=true")...).
		want(t, exitFailed, "exact_times was false and is now true")
}

// Times of imported data may be large: they are not rounded.
func TestImportedTimesAreExact(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	program(t, training(trainedRun(t).data, "--out", out)...).want(t, exitDone)
	if config := string(content(t, out, "seed-0/"+run.ConfigFile)); !strings.Contains(config, `"exact_times": true`) {
		t.Errorf("the configuration is\n%s", config)
	}
}

// canceller interrupts when a text is written.
type canceller struct {
	written bytes.Buffer
	text    string
	cancel  context.CancelFunc
}

func (c *canceller) Write(p []byte) (int, error) {
	n, err := c.written.Write(p)
	if strings.Contains(c.written.String(), c.text) {
		c.cancel()
	}
	return n, err
}

// A training that was interrupted continues without being told its settings again, and ends with the same weights.
func TestTrainInterrupted(t *testing.T) {
	data, whole, out := trainedRun(t).data, t.TempDir(), t.TempDir()
	program(t, training(data, "--out", whole, "--seed", "7")...).want(t, exitDone)

	ctx, cancel := context.WithCancel(t.Context())
	stderr := &canceller{text: "epoch 1", cancel: cancel}
	var stdout bytes.Buffer
	args := training(data, "--out", out, "--seed", "7", "--negatives", "all", "--json")
	code := launch(ctx, args, nil, &stdout, stderr)
	r := result{code, stdout.String(), stderr.written.String()}.want(t, exitInterrupted, "saved in "+out,
		"--resume", "interrupted: ")
	if doc := decode[failure](t, r); doc.Error.Kind != "interrupted" {
		t.Errorf("got %+v", doc.Error)
	}
	if strings.Contains(r.err, "epoch 2") {
		t.Errorf("the training went on:\n%s", r.err)
	}
	program(t, "train", "--data", data, "--out", out, "--device", "cpu", "--resume").want(t, exitDone, "epoch 2")
	if !bytes.Equal(content(t, whole, "seed-7", run.CheckpointFile),
		content(t, out, "seed-7", run.CheckpointFile)) {
		t.Error("the resumed training ended with other weights")
	}
	program(t, "train", "--data", data, "--out", out, "--device", "cpu", "--resume", "--set", "dropout=0.4").
		want(t, exitFailed, "dropout was 0.1 and is now 0.4")
	// what is measured in the end is remembered too, but may change
	for _, negatives := range []string{"", "historical", ""} {
		args := []string{"train", "--data", data, "--out", out, "--device", "cpu", "--resume", "--json"}
		want := []string{"random", "historical", "inductive"}
		if negatives != "" {
			args, want = append(args, "--negatives", negatives), []string{negatives}
		}
		var measured []string
		for _, r := range decode[run.Summary](t, program(t, args...).want(t, exitDone)).Results {
			if r.Scenario == protocol.Transductive {
				measured = append(measured, string(r.Strategy))
			}
		}
		if !slices.Equal(measured, want) {
			t.Errorf("measured with negatives %v, want %v", measured, want)
		}
	}
	last := filepath.Join(out, "seed-7", run.LastFile)
	if err := os.Truncate(last, 1000); err != nil {
		t.Fatal(err)
	}
	program(t, "train", "--data", data, "--out", out, "--device", "cpu", "--resume").
		want(t, exitBadInput, last, "corrupt checkpoint")
}

func TestTrainUsage(t *testing.T) {
	data := trainedRun(t).data
	tests := []struct {
		args string
		want string
	}{
		{"--set num_epoch=2", "did you mean num_epochs?"},
		{"--set num_epochs=two", "must be a whole number"},
		{"--set num_epochs", "must be key=value"},
		{"--set batch_size=0", "batch_size is 0"},
		{"--set gamma=-1", "gamma is -1"},
		{"--set optimizer=lion", "Adam, SGD or RMSprop"},
		{"--preset pape", `no preset "pape"`},
		{"--model dygmamb", "did you mean dygmamba?"},
		{"--negatives most", "--negatives is"},
		{"--runs 0", "--runs is 0"},
		{"--runs 99999999999999999", "must be from 1 to"},
		{"--seed 18446744073709551615 --runs 2", "leaves no room"},
		{"--memory-limit much", "such as 8GB"},
		{"--memory-limit -3GB", "such as 8GB"},
		{"--save-every 0s", "--save-every is 0s"},
		{"--test-every -1", "--test-every is -1"},
		{"--resume", "--resume needs --out"},
		{"--tensorboard", "--tensorboard needs --out"},
		{"--device tpu", "--device"},
		{"--threads -1", "--threads is -1"},
		{"more", "takes no arguments"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			program(t, append([]string{"train", "--data", data}, strings.Fields(tt.args)...)...).
				want(t, exitUsage, tt.want)
		})
	}
	program(t, "train").want(t, exitUsage, "--data is missing")
	program(t, "train", "--data", "uzi").want(t, exitUsage, "did you mean uci?")
}

// What does not fit is said before anything is trained or written.
func TestTrainMemoryLimit(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	r := program(t, training(trainedRun(t).data, "--out", out, "--memory-limit", "300KiB")...).
		want(t, exitFailed, "training needs", "may be used", "batch_size")
	if strings.Contains(r.err, "epoch") {
		t.Errorf("it was trained nevertheless:\n%s", r.err)
	}
	if files, err := filepath.Glob(filepath.Join(out, "*")); err != nil || len(files) > 0 {
		t.Errorf("the run directory has %v", files)
	}
}

// A directory in the ml_* layout, with features of edges narrower than the model's, and one without any.
func TestTrainFeatures(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 600})
	if err != nil {
		t.Fatal(err)
	}
	set.Name = "tiny"
	var losses []float64
	for _, columns := range []int{0, 4} {
		dir := filepath.Join(t.TempDir(), "tiny")
		set.Edge = dataset.Features{Rows: set.Log.Len() + 1, Cols: columns}
		if columns > 0 {
			set.Edge.Data = make([]float32, set.Edge.Rows*columns)
			for i := columns; i < len(set.Edge.Data); i++ {
				set.Edge.Data[i] = float32(i%7) - 3
			}
		}
		if err := dataset.SaveDyGLib(dir, set); err != nil {
			t.Fatal(err)
		}
		sum := decode[run.Summary](t, program(t, training(dir, "--json")...).want(t, exitDone))
		losses = append(losses, *sum.Runs[0].Results[0].Loss)
	}
	if losses[0] == losses[1] {
		t.Error("features of edges make no difference")
	}
	program(t, training(synthetic(t), "--set", "num_epochs=1")...).want(t, exitDone, "warning: ")
}

// Data that is too short for a split is trained on as far as it goes.
func TestTrainLittleData(t *testing.T) {
	tests := []struct {
		name   string
		times  []float64
		warned bool
		shows  string
	}{
		{"one event", []float64{1}, true, "There are no test events"},
		{"one moment", []float64{5, 5, 5, 5, 5, 5}, true, "There are no test events"},
		{"three events", []float64{1, 2, 3}, true, "transductive"},
		{"less than a batch", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, false, "transductive"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("u,i,ts\n")
			for i, at := range tt.times {
				fmt.Fprintf(&b, "a%d,x%d,%v\n", i%2, i%3, at)
			}
			dir := t.TempDir()
			table, file := filepath.Join(dir, "few.csv"), filepath.Join(dir, "few.dgm")
			if err := os.WriteFile(table, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			program(t, "data", "import", table, "--src", "u", "--dst", "i", "--time", "ts", "--out", file).
				want(t, exitDone)
			r := program(t, training(file, "--out", filepath.Join(dir, "run"))...).want(t, exitDone).shows(t, tt.shows)
			if warned := strings.Contains(r.err, "no events are left to validate on"); warned != tt.warned {
				t.Errorf("warned: %v, want %v\n%s", warned, tt.warned, r.err)
			}
		})
	}
}

func TestParseBytes(t *testing.T) {
	tests := []struct {
		text string
		want int64
	}{
		{"", 0}, {"1000000", 1000000}, {"8GB", 8_000_000_000}, {"512MiB", 512 << 20}, {"1.5 gib", 3 << 29},
		{"64K", 64 << 10}, {"7b", 7},
	}
	for _, tt := range tests {
		if got, err := parseBytes("memory-limit", tt.text); err != nil || got != tt.want {
			t.Errorf("%q: got %d, %v, want %d", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"GB", "-1", "0", "1e30GB", "nan", "8XB", "0.5", "1e-10GB"} {
		if got, err := parseBytes("memory-limit", text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}
