package dygmamba_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

// narrow makes a model that learns in a second.
var narrow = []string{"channel_embedding_dim=8", "time_feat_dim=16", "max_input_sequence_length=12", "patch_size=2",
	"max_interaction_times=4", "node_feat_dim=8", "edge_feat_dim=8", "num_epochs=2", "batch_size=100",
	"learning_rate=0.002"}

// trained is one run that all tests share.
type trained struct {
	root    string // to remove at the end
	dir     string // the run's
	set     *dataset.Set
	summary run.Summary
	err     error
}

var shared = sync.OnceValue(func() (r trained) {
	if r.root, r.err = os.MkdirTemp("", "dygmamba-test-*"); r.err != nil {
		return r
	}
	if r.set, r.err = dataset.Periodic(dataset.PeriodicOptions{Events: 1000, Seed: 3}); r.err != nil {
		return r
	}
	dev := cpu.New(cpu.Options{})
	defer dev.Close()
	r.summary, r.err = dygmamba.Train(context.Background(),
		dygmamba.TrainOptions{Set: r.set, Device: dev, Settings: narrow, Dir: r.root})
	r.dir = run.SeedDir(r.root, 0)
	return r
})

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(shared().root)
	os.Exit(code)
}

func launch(t testing.TB) trained {
	t.Helper()
	r := shared()
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r
}

func newCPU(t testing.TB) *cpu.Device {
	dev := cpu.New(cpu.Options{})
	t.Cleanup(func() { dev.Close() })
	return dev
}

func load(t testing.TB, path string, o predict.Options) *predict.Predictor {
	t.Helper()
	p, err := predict.Load(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func score(t testing.TB, p *predict.Predictor, qs []predict.Query) []float32 {
	t.Helper()
	logits, err := p.Score(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	return logits
}

// questions are about past events, in no order, about the future, and about strangers.
func questions(set *dataset.Set) []predict.Query {
	var qs []predict.Query
	n := set.Log.Len()
	for i := range 60 {
		e := set.Log.At(i * 613 % n)
		qs = append(qs, predict.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
	}
	end := set.Log.At(n - 1).Time
	return append(qs, predict.Query{Src: 1, Dst: 12, Time: end + 1000}, predict.Query{Src: 5, Dst: 4000, Time: end},
		predict.Query{Src: math.MaxInt32, Dst: 77, Time: 0}, predict.Query{Src: 3, Dst: 15, Time: -5},
		predict.Query{Src: 2, Dst: 2, Time: end})
}

// What had been there before a time is counted, whoever was the source.
func TestCounts(t *testing.T) {
	log := event.NewLog(6)
	for i, e := range [][2]event.Node{{1, 2}, {2, 1}, {1, 3}, {2, 2}, {1, 2}} {
		if _, err := log.Append(event.Event{Src: e[0], Dst: e[1], Time: float64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	p := load(t, launch(t).dir, predict.Options{Past: index.Freeze(log)})
	for _, tt := range []struct {
		src, dst event.Node
		at       event.Time
		want     int
	}{{1, 2, 4, 2}, {1, 2, 5, 3}, {2, 1, 4.5, 3}, {1, 2, 0, 0}, {3, 2, 9, 0}, {2, 2, 9, 1}, {7, 1, 9, 0}} {
		if got := p.Meetings(predict.Query{Src: tt.src, Dst: tt.dst, Time: tt.at}); got != tt.want {
			t.Errorf("%d and %d met %d times before %v, want %d", tt.src, tt.dst, got, tt.at, tt.want)
		}
	}
	for at, want := range map[event.Time]event.Node{0: 0, 1: 2, 2.5: 3, 9: 2} {
		if got, met := p.LastMet(1, at); got != want || met != (want > 0) {
			t.Errorf("before %v node 1 last met %d, want %d", at, got, want)
		}
	}
	if n := p.Events(1, 4); n != 3 {
		t.Errorf("node 1 had %d events, want 3", n)
	}
}

// TestScore: neither the size of batches nor the order of queries nor the number of threads makes a difference.
func TestScore(t *testing.T) {
	r := launch(t)
	qs := questions(r.set)
	want := score(t, load(t, r.dir, predict.Options{Set: r.set}), qs)
	for _, size := range []string{"1", "7", "64", "1000"} {
		p := load(t, filepath.Join(r.dir, run.CheckpointFile),
			predict.Options{Set: r.set, Threads: 3, Settings: []string{"batch_size=" + size}})
		if got := score(t, p, qs); !slices.Equal(got, want) {
			t.Errorf("batches of %s give other scores", size)
		}
	}
	slices.Reverse(qs)
	got := score(t, load(t, r.dir, predict.Options{Set: r.set}), qs)
	if slices.Reverse(got); !slices.Equal(got, want) {
		t.Error("another order gives other scores")
	}
}

// TestScoreSeesThePastOnly: what happens at the query's time and later changes nothing, what happened just before it
// does.
func TestScoreSeesThePastOnly(t *testing.T) {
	r := launch(t)
	all := r.set.Log.All()
	full := load(t, r.dir, predict.Options{Set: r.set})
	for _, at := range []int{5, 300, 800} {
		q := []predict.Query{{Src: all.Src[at], Dst: all.Dst[at], Time: all.Time[at]}}
		want := score(t, full, q)[0]
		until := func(before event.Time) float32 {
			past := index.Freeze(r.set.Log.Select(func(i int) bool { return all.Time[i] < before }))
			return score(t, load(t, r.dir, predict.Options{Set: r.set, Past: past}), q)[0]
		}
		if got := until(q[0].Time); got != want {
			t.Errorf("event %d: %v with the future, %v without", at, want, got)
		}
		if got := until(all.Time[at] / 2); got == want && at > 5 {
			t.Errorf("event %d: the score does not depend on the recent past", at)
		}
	}
}

func TestScoreOfStrangers(t *testing.T) {
	r := launch(t)
	p := load(t, r.dir, predict.Options{Set: r.set})
	for n, want := range map[event.Node]bool{1: true, 20: true, 21: false, math.MaxInt32: false} {
		if p.Known(n) != want {
			t.Errorf("node %d known: %v, want %v", n, !want, want)
		}
	}
	bad := []predict.Query{{Src: 0, Dst: 1, Time: 1}, {Src: 1, Dst: -1, Time: 1}, {Src: 1, Dst: 2, Time: math.NaN()},
		{Src: 1, Dst: 2, Time: math.Inf(1)}}
	for _, q := range bad {
		if _, err := p.Score(t.Context(), []predict.Query{q}); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%+v gave %v", q, err)
		}
		if _, err := p.Explain(t.Context(), []predict.Query{q}); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("explaining %+v gave %v", q, err)
		}
	}
	if got, err := p.Score(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("no queries: %v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Score(ctx, questions(r.set)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := p.Explain(ctx, questions(r.set)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled explanation: %v", err)
	}
}

// bare is the run's checkpoint as the released program would have written it: its tensor names and no metadata.
func (r trained) bare() (string, error) {
	f, err := checkpoint.Load(filepath.Join(r.dir, run.CheckpointFile))
	if err != nil {
		return "", err
	}
	f.Meta = nil
	for i := range f.Tensors {
		f.Tensors[i].Name = strings.TrimPrefix(f.Tensors[i].Name, "param/")
	}
	path := filepath.Join(r.dir, "weights.safetensors")
	return path, checkpoint.Save(path, f)
}

func bare(t *testing.T, r trained) string {
	t.Helper()
	path, err := r.bare()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// exampleRun and exampleWeights are where the examples find a trained model.
func exampleRun() (dir string, set *dataset.Set) {
	r := shared()
	if r.err != nil {
		panic(r.err)
	}
	return r.dir, r.set
}

func exampleWeights() (path string, set *dataset.Set) {
	path, err := shared().bare()
	if err != nil {
		panic(err)
	}
	return path, shared().set
}

// TestLoadForeign: widths are read from shapes, the rest comes from settings, and contradictions are noticed.
func TestLoadForeign(t *testing.T) {
	r := launch(t)
	path := bare(t, r)
	rest := []string{"max_input_sequence_length=12", "max_interaction_times=4", "exact_times=true"}
	p := load(t, path, predict.Options{Set: r.set, Model: "dygmamba", Settings: rest})
	want := score(t, load(t, r.dir, predict.Options{Set: r.set}), questions(r.set))
	if !slices.Equal(score(t, p, questions(r.set)), want) {
		t.Error("the same weights give other scores")
	}
	tests := []struct {
		name string
		path string
		o    predict.Options
		is   error
		want string
	}{
		{"no model", path, predict.Options{}, predict.ErrNoModel, "weights.safetensors"},
		{"unknown model", path, predict.Options{Model: "dygmama"}, model.ErrUnknownModel,
			"did you mean dygmamba?"},
		{"other model", path, predict.Options{Model: "dygmamba-a"}, predict.ErrMisfit, "tensor"},
		{"width", path, predict.Options{Model: "dygmamba", Settings: []string{"channel_embedding_dim=16"}},
			predict.ErrMisfit, "0.neighbor_co_occurrence_encoder"},
		{"patch", path, predict.Options{Model: "dygmamba", Settings: []string{"patch_size=1"}}, predict.ErrMisfit,
			"projection_layer"},
		{"key", path, predict.Options{Model: "dygmamba", Settings: []string{"patchsize=1"}}, model.ErrSetting,
			"patch_size"},
		{"preset", path, predict.Options{Model: "dygmamba", Preset: "none"}, model.ErrSetting, "no preset"},
		{"ours, other model", r.dir, predict.Options{Model: "dygmamba-b"}, predict.ErrMisfit,
			"it is of dygmamba"},
		{"ours, width", r.dir, predict.Options{Settings: []string{"num_layers=1"}},
			predict.ErrMisfit, "0.mamba.1"},
		{"ours, preset", r.dir, predict.Options{Preset: "paper"}, predict.ErrMisfit, "preset"},
		{"ours, value", r.dir, predict.Options{Settings: []string{"dropout=2"}}, model.ErrSetting, "dropout"},
		{"ours, batch", r.dir, predict.Options{Settings: []string{"batch_size=0"}}, model.ErrSetting,
			"batch_size"},
		{"nowhere", filepath.Join(r.dir, "none"), predict.Options{}, fs.ErrNotExist, "none"},
		{"empty directory", t.TempDir(), predict.Options{}, fs.ErrNotExist, "after its first epoch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Set = r.set
			p, err := predict.Load(tt.path, tt.o)
			if err == nil {
				p.Close()
			}
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %v with %q", err, tt.is, tt.want)
			}
		})
	}
	if _, err := predict.Load(r.dir, predict.Options{}); err == nil {
		t.Error("loaded without data")
	}
}

// TestConfigure: a foreign checkpoint that was told its configuration needs no telling.
func TestConfigure(t *testing.T) {
	r := launch(t)
	f, err := checkpoint.Load(bare(t, r))
	if err != nil {
		t.Fatal(err)
	}
	told := []string{"max_input_sequence_length=12", "max_interaction_times=4", "exact_times=true"}
	if err := predict.Configure(&f, "dygmamba", "", model.Data{}, told); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "told.safetensors")
	if err := checkpoint.Save(path, f); err != nil {
		t.Fatal(err)
	}
	qs := questions(r.set)
	if !slices.Equal(score(t, load(t, path, predict.Options{Set: r.set}), qs),
		score(t, load(t, r.dir, predict.Options{Set: r.set}), qs)) {
		t.Error("the configured checkpoint gives other scores")
	}
	deeper := []string{"num_layers=3"}
	if err := predict.Configure(&f, "dygmamba", "", model.Data{}, deeper); !errors.Is(err, predict.ErrMisfit) {
		t.Errorf("a contradiction gave %v", err)
	}
	// What shapes cannot tell comes from the released program's values, not from what we would train with.
	if err := predict.Configure(&f, "dygmamba", "", model.Data{Name: "mooc"}, nil); err != nil ||
		!strings.Contains(f.Meta["spec"], `"max_input_sequence_length":256`) {
		t.Errorf("weights for mooc: %v, %s", err, f.Meta["spec"])
	}
}

func TestLoadTruncated(t *testing.T) {
	r := launch(t)
	raw, err := os.ReadFile(filepath.Join(r.dir, run.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.safetensors")
	for _, n := range []int{0, 7, 100, len(raw) / 2, len(raw) - 1} {
		if err := os.WriteFile(path, raw[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := predict.Load(path, predict.Options{Set: r.set}); !errors.Is(err, checkpoint.ErrCorrupt) {
			t.Errorf("%d of %d bytes gave %v", n, len(raw), err)
		}
	}
}

// TestSeveralSeeds: a directory of runs is not one run.
func TestSeveralSeeds(t *testing.T) {
	r := launch(t)
	dir := t.TempDir()
	raw, err := os.ReadFile(filepath.Join(r.dir, run.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []string{"seed-10", "seed-2", "notes"} {
		if err := os.MkdirAll(filepath.Join(dir, seed), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, seed, run.CheckpointFile), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := run.Checkpoints(dir)
	if err != nil || len(files) != 2 || !strings.Contains(files[0], "seed-2") {
		t.Errorf("found %v, %v", files, err)
	}
	p := load(t, dir, predict.Options{Set: r.set}) // whoever is the best, nobody knows
	if c := p.Choice(); c.Of != 2 || c.File != files[0] || !strings.Contains(c.String(), "seed 2, the first of 2") {
		t.Errorf("chosen is %+v, %q", c, c.String())
	}
}

// TestEvaluate: measuring a checkpoint gives what its training reported.
func TestEvaluate(t *testing.T) {
	r := launch(t)
	got, err := dygmamba.Evaluate(t.Context(), r.dir,
		dygmamba.EvaluateOptions{LoadOptions: predict.Options{Set: r.set}})
	if err != nil {
		t.Fatal(err)
	}
	reported := r.summary.Runs[0].Results
	if len(got) != 3*len(reported) {
		t.Fatalf("%d results for %d scenarios under three kinds of negatives", len(got), len(reported))
	}
	for _, want := range reported {
		i := slices.IndexFunc(got, func(m run.Measured) bool {
			return m.Scenario == want.Scenario && m.Strategy == want.Strategy
		})
		if i < 0 || got[i].AP != want.AP || got[i].AUC != want.AUC {
			t.Errorf("%s, %s: measured %+v, reported %+v", want.Scenario, want.Strategy, got, want)
		}
	}
}
