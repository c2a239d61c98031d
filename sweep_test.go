package dygmamba_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

func axes(t *testing.T, texts ...string) (list []run.Axis) {
	t.Helper()
	for _, text := range texts {
		a, err := run.ParseAxis(text)
		if err != nil || a.String() != text {
			t.Fatalf("%q is read as %q, %v", text, a.String(), err)
		}
		list = append(list, a)
	}
	return list
}

func TestParseAxis(t *testing.T) {
	axes(t, "gamma=0.1,0.5,1", "learning_rate=1e-05..0.01", "optimizer=Adam,SGD")
	for _, bad := range []string{"", "gamma", "=1,2", "gamma=", "gamma=1,,2", "gamma=1,1", "gamma=2..1",
		"gamma=a..b", "gamma=1..", "gamma=1..Inf"} {
		if a, err := run.ParseAxis(bad); !errors.Is(err, model.ErrSetting) {
			t.Errorf("%q is read as %+v, %v", bad, a, err)
		}
	}
}

// sweep tries learning rates on the shared stream, small as everything here.
func sweep(t *testing.T, ctx context.Context, dir string, change func(o *dygmamba.SweepOptions)) (*run.Sweep,
	run.Summary, error) {
	t.Helper()
	o := dygmamba.SweepOptions{Axes: axes(t, "learning_rate=1e-06,0.001,0.01", "dropout=0,0.1")}
	o.Set, o.Dir, o.Settings = launch(t).set, dir, append(slices.Clone(narrow), "num_epochs=6", "patience=9")
	o.Settings = slices.DeleteFunc(o.Settings, func(s string) bool { return strings.HasPrefix(s, "learning_rate=") })
	if change != nil {
		change(&o)
	}
	return dygmamba.RunSweep(ctx, o)
}

// timeless is the record of a sweep without what differs from run to run.
func timeless(t *testing.T, dir string) string {
	t.Helper()
	s, err := run.OpenSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Trials {
		for k := range s.Trials[i].Runs {
			s.Trials[i].Runs[k].Seconds = 0
		}
	}
	raw, _ := json.Marshal(s)
	return string(raw)
}

// The worse half ends at every rung, the best by validation is chosen, and it alone sees the test.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s, summary, err := sweep(t, t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{2, 3, 4, 6}; len(s.Trials) != 6 || !slices.Equal(s.Rungs, want) {
		t.Fatalf("%d trials, rungs %v, want %v", len(s.Trials), s.Rungs, want)
	}
	ended := map[int]int{}
	for _, x := range s.Trials {
		ended[x.Ended]++
		epochs := x.Ended
		if epochs == 0 {
			epochs = 6
		}
		if x.Epochs() != epochs || len(x.Runs) != 1 || len(x.Runs[0].Scores) != epochs {
			t.Errorf("%s ended at %d with %d epochs", x.Name, x.Ended, x.Epochs())
		}
		_, err := os.Stat(filepath.Join(dir, x.Name, "seed-0", run.ResultFile))
		if x.Chosen != (err == nil) || x.Chosen != (x.Name == s.Best) || x.Chosen && x.Ended > 0 {
			t.Errorf("%s: chosen %v, ended %d, result %v", x.Name, x.Chosen, x.Ended, err)
		}
	}
	if ended[2] != 3 || ended[3] != 1 || ended[4] != 1 || ended[0] != 1 {
		t.Errorf("trials ended at %v", ended)
	}
	// Whoever went on past an epoch was not worse than those that ended there.
	for _, rung := range s.Rungs[:3] {
		for _, out := range s.Trials {
			for _, on := range s.Trials {
				if out.Ended == rung && (on.Ended > rung || on.Ended == 0) &&
					on.Score("ap", rung) < out.Score("ap", rung) {
					t.Errorf("%s went on at epoch %d with %v, %s ended with %v", on.Name, rung, on.Score("ap", rung),
						out.Name, out.Score("ap", rung))
				}
			}
		}
	}
	// The chosen one is what a training with its settings is.
	o := dygmamba.TrainOptions{Set: launch(t).set, Settings: append(slices.Clone(narrow), "num_epochs=6", "patience=9")}
	for _, x := range s.Trials {
		if x.Chosen {
			o.Settings = append(o.Settings, x.Settings...)
		}
	}
	plain, err := dygmamba.Train(t.Context(), o)
	if err != nil || plain.Results[0] != summary.Results[0] {
		t.Errorf("the sweep has %+v, a training %+v, %v", summary.Results[0], plain.Results[0], err)
	}
	// Its directory stands for it.
	files, err := run.Checkpoints(dir)
	if want := filepath.Join(dir, s.Best, "seed-0", run.CheckpointFile); err != nil || len(files) != 1 ||
		files[0] != want {
		t.Errorf("the sweep's checkpoints are %v, %v", files, err)
	}
	a, _ := os.ReadFile(filepath.Join(dir, run.ResultFile))
	b, _ := os.ReadFile(filepath.Join(dir, s.Best, run.ResultFile))
	if len(a) == 0 || string(a) != string(b) {
		t.Error("the result is not that of the chosen trial")
	}
	if _, _, err := sweep(t, t.Context(), dir, nil); err == nil ||
		!strings.Contains(err.Error(), "holds a sweep already") {
		t.Errorf("began again: %v", err)
	}
	_, _, err = sweep(t, t.Context(), dir, func(o *dygmamba.SweepOptions) { o.Resume, o.Full = true, true })
	if err == nil || !strings.Contains(err.Error(), "full was false and is now true") {
		t.Errorf("went on as another: %v", err)
	}
}

// A sweep that was stopped anywhere goes on to the same end.
func TestSweepResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	few := func(o *dygmamba.SweepOptions) {
		o.Axes, o.Seeds, o.Resume = o.Axes[:1], []uint64{3, 4}, true
	}
	whole, parts := t.TempDir(), t.TempDir()
	_, want, err := sweep(t, t.Context(), whole, few)
	if err != nil {
		t.Fatal(err)
	}
	for stop := 25; ; stop += 25 {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		_, got, err := sweep(t, ctx, parts, func(o *dygmamba.SweepOptions) {
			few(o)
			o.OnStep = func(uint64, train.Step) {
				if steps++; steps == stop {
					cancel()
				}
			}
		})
		cancel()
		if err == nil {
			if got.Results[0] != want.Results[0] {
				t.Errorf("got %+v, want %+v", got.Results, want.Results)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if a, b := timeless(t, whole), timeless(t, parts); a != b {
		t.Errorf("stopped again and again:\n%s\nat once:\n%s", b, a)
	}
}

// Trials that cannot go on do not stop the others; if none can, that is an error.
func TestSweepFailures(t *testing.T) {
	limit := func(o *dygmamba.SweepOptions) {
		o.Axes, o.MemoryLimit = axes(t, "max_input_sequence_length=8,4000,6000"), 60<<20
	}
	s, _, err := sweep(t, t.Context(), t.TempDir(), limit)
	if err != nil || s.Best != "trial-1" || s.Trials[0].Failed != "" ||
		!strings.Contains(s.Trials[1].Failed, "training needs") || s.Trials[2].Failed == "" {
		t.Errorf("%+v, %v", s, err)
	}
	_, _, err = sweep(t, t.Context(), t.TempDir(), func(o *dygmamba.SweepOptions) {
		limit(o)
		o.MemoryLimit = 1
	})
	if err == nil || !strings.Contains(err.Error(), "all trials failed") {
		t.Errorf("nothing could be trained, and the error is %v", err)
	}
}

// What cannot be swept is said before anything is trained.
func TestSweepRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(o *dygmamba.SweepOptions)
		want   string
	}{
		"unknown": {func(o *dygmamba.SweepOptions) { o.Axes = axes(t, "gama=1,2") }, "did you mean gamma"},
		"value":   {func(o *dygmamba.SweepOptions) { o.Axes = axes(t, "dropout=0,2") }, "trial dropout=2"},
		"one":     {func(o *dygmamba.SweepOptions) { o.Axes = axes(t, "dropout=0") }, "want several"},
		"twice": {func(o *dygmamba.SweepOptions) { o.Axes = axes(t, "dropout=0,0.1", "dropout=0.2,0.3") },
			"swept twice"},
		"endless": {func(o *dygmamba.SweepOptions) { o.Axes = axes(t, "dropout=0..0.5") }, "say with trials"},
		"no number": {func(o *dygmamba.SweepOptions) { o.Axes, o.Trials = axes(t, "optimizer=0..1"), 3 },
			"has no range"},
		"too many": {func(o *dygmamba.SweepOptions) { o.Trials = 1 << 20; o.Axes = axes(t, "dropout=0..0.5") },
			"more than"},
		"labels": {func(o *dygmamba.SweepOptions) { o.Task = protocol.NodeClassification },
			"dropout is a setting of the model"},
	} {
		dir := filepath.Join(t.TempDir(), "sweep")
		_, _, err := sweep(t, t.Context(), dir, tt.change)
		if !errors.Is(err, model.ErrSetting) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: left a directory, %v", name, err)
		}
	}
	if _, _, err := sweep(t, t.Context(), launch(t).root, nil); err == nil ||
		!strings.Contains(err.Error(), "holds a training") {
		t.Errorf("swept into a training: %v", err)
	}
}

// Labels are chosen by AUC, on one model that was trained on links once.
func TestSweepLabels(t *testing.T) {
	log := event.NewLog(0)
	for i := range launch(t).set.Log.Len() {
		e := launch(t).set.Log.At(i)
		e.Label = float32(e.Dst % 2)
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	labelled := *launch(t).set
	labelled.Log = log
	dir := t.TempDir()
	s, summary, err := sweep(t, t.Context(), dir, func(o *dygmamba.SweepOptions) {
		o.Set, o.Task, o.Axes, o.Full = &labelled, protocol.NodeClassification,
			axes(t, "learning_rate=0.0001,0.01"), true
		o.Settings = append(o.Settings, "num_epochs=2")
	})
	if err != nil || s.Measure != "auc" || summary.Runs[0].Task != protocol.NodeClassification ||
		!slices.Equal(s.Rungs, []int{2}) {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, x := range s.Trials {
		if x.Chosen != (x.Score("auc", 9) == max(s.Trials[0].Score("auc", 9), s.Trials[1].Score("auc", 9))) {
			t.Errorf("%s with %v: chosen %v", x.Name, x.Score("auc", 9), x.Chosen)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "link", "seed-0", run.ResultFile)); err != nil {
		t.Error(err)
	}
}

// Random trials are drawn by the seed, each once, within their range; whole numbers stay whole.
func TestSweepDraws(t *testing.T) {
	draw := func(seed uint64, trials int, texts ...string) (list []string) {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the plan is all that is wanted
		_, _, stopped := sweep(t, ctx, dir, func(o *dygmamba.SweepOptions) {
			o.Axes, o.Trials, o.Seeds = axes(t, texts...), trials, []uint64{seed}
		})
		if !errors.Is(stopped, context.Canceled) {
			t.Fatal(stopped)
		}
		s, err := run.OpenSweep(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range s.Trials {
			list = append(list, strings.Join(x.Settings, " "))
		}
		return list
	}
	lists := []string{"gamma=0.2,0.5,1", "dropout=0,0.1"}
	all := draw(1, 0, lists...)
	if len(all) != 6 || all[1] != "gamma=0.2 dropout=0.1" {
		t.Errorf("all combinations are %q", all)
	}
	some, other := draw(1, 4, lists...), draw(2, 4, lists...)
	if len(some) != 4 || !slices.Equal(some, draw(1, 4, lists...)) || slices.Equal(some, other) ||
		len(draw(1, 99, lists...)) != 6 {
		t.Errorf("drawn are %q and %q", some, other)
	}
	low := 0
	for _, text := range draw(5, 40, "learning_rate=1e-05..0.01", "num_layers=1..3") {
		var rate float64
		var layers int
		var found model.Training
		if err := model.Apply(strings.Fields(text)[:1], &found); err != nil {
			t.Fatal(err)
		}
		rate = found.LearningRate
		if _, err := fmt.Sscanf(text[strings.Index(text, "num_layers="):], "num_layers=%d", &layers); err != nil {
			t.Fatal(text, err)
		}
		if rate < 1e-5 || rate > 0.01 || layers < 1 || layers > 3 {
			t.Errorf("drawn is %q", text)
		}
		if rate < 3.2e-4 { // the middle of the logarithms
			low++
		}
	}
	if low < 10 || low > 30 {
		t.Errorf("%d of 40 rates lie in the lower half of the logarithm", low)
	}
}

// The trials of a sweep have the preset that a training would have, which many imported events on a CPU decide; an
// unrelated result.json stays, and time is not limited.
func TestSweepOfAFirstLook(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 2200, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	axis, err := run.ParseAxis("dropout=0,0.1")
	if err != nil {
		t.Fatal(err)
	}
	o := dygmamba.SweepOptions{Axes: []run.Axis{axis}, TrainOptions: dygmamba.TrainOptions{
		Set: set, Device: newCPU(t), Dir: t.TempDir(), Settings: append(slices.Clone(narrow), "num_epochs=1"),
	}}
	_, summary, err := dygmamba.RunSweep(t.Context(), o)
	if err != nil || summary.Preset != "quick" {
		t.Errorf("preset %q, %v", summary.Preset, err)
	}
	o.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(o.Dir, run.ResultFile), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := dygmamba.RunSweep(t.Context(), o); err == nil || !strings.Contains(err.Error(),
		"would be overwritten") {
		t.Errorf("beside an unrelated result.json: %v", err)
	}
}

// A time limit is for a sweep as a whole, its last test included. All trials are told of, with number and estimate.
func TestSweepMaxTime(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 900, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	axis, err := run.ParseAxis("dropout=0,0.1,0.2")
	if err != nil {
		t.Fatal(err)
	}
	o := dygmamba.SweepOptions{Axes: []run.Axis{axis}, TrainOptions: dygmamba.TrainOptions{
		Set: set, Device: newCPU(t), Dir: t.TempDir(), MaxTime: 3 * time.Second,
		Settings: append(slices.Clone(narrow), "num_epochs=100000", "patience=100000"),
	}}
	var turns []dygmamba.Turn
	o.OnTurn = func(t dygmamba.Turn) { turns = append(turns, t) }
	began := time.Now()
	s, summary, err := dygmamba.RunSweep(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if spent := time.Since(began); spent > 15*time.Second {
		t.Errorf("3 s became %v", spent)
	}
	if len(turns) < 3 || turns[1].Number != 2 || turns[1].Of != 3 || turns[1].Left <= 0 || turns[1].Left > o.MaxTime {
		t.Errorf("turns %+v", turns)
	}
	if s.Best == "" || summary.Runs[0].Ended != run.EndedByTime || len(summary.Results) == 0 {
		t.Errorf("chosen %q, ended %+v", s.Best, summary.Runs)
	}
	for i := range s.Trials {
		if s.Trials[i].Epochs() == 0 {
			t.Errorf("%s had no time", s.Trials[i].Name)
		}
	}
}
