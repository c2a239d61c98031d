package dygmamba_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// slim are settings of baselines that learn in a second; those that a model does not have are left out.
var slim = map[string]string{
	"time_feat_dim": "8", "node_feat_dim": "8", "edge_feat_dim": "8", "num_neighbors": "4",
	"num_epochs": "2", "batch_size": "100", "learning_rate": "0.002",
}

func slimSettings(t *testing.T, name string) []string {
	t.Helper()
	f, err := model.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, key := range f.Keys() {
		if value, ok := slim[key]; ok {
			list = append(list, key+"="+value)
		}
	}
	return list
}

// TestMemories trains models that remember, in both orders: what was saved measures as in training, and answers follow
// the events that come in.
func TestMemories(t *testing.T) {
	set := launch(t).set
	for _, name := range []string{"tgn", "jodie", "dyrep"} {
		for _, order := range protocol.Orders() {
			t.Run(name+" "+string(order), func(t *testing.T) {
				dir := t.TempDir()
				summary, err := dygmamba.Train(t.Context(), dygmamba.TrainOptions{
					Set: set, Model: name, Order: order, Settings: slimSettings(t, name), Dir: dir,
				})
				if err != nil {
					t.Fatal(err)
				}
				dir = run.SeedDir(dir, 0)
				measured(t, summary.Runs[0], dir, set)
				follows(t, dir, set)
			})
		}
	}
}

// measured compares an evaluation of what was saved with what its training reported: memories travel with the weights.
func measured(t *testing.T, reported run.Result, dir string, set *dataset.Set) {
	t.Helper()
	o := dygmamba.EvaluateOptions{LoadOptions: predict.Options{Set: set}, Strategies: []protocol.Negatives{"random"}}
	got, err := dygmamba.Evaluate(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprint(scores(got)), fmt.Sprint(scores(reported.Results)); a != b || len(got) != 2 {
		t.Errorf("what was saved measures %s, in training %s", a, b)
	}
}

func scores(list []run.Measured) (s []float64) {
	for _, m := range list {
		s = append(s, m.AP, m.AUC)
	}
	return s
}

// follows asks about the time after all events, of nodes old and new, once with all events from the beginning and once
// after the last ones came in.
func follows(t *testing.T, dir string, set *dataset.Set) {
	t.Helper()
	const some = 850
	n := set.Log.Len()
	last := set.Log.At(n - 1)
	newcomer := event.Event{Src: 4000, Dst: last.Dst, Time: last.Time + 1}
	whole := set.Log.Select(func(int) bool { return true })
	if _, err := whole.Append(newcomer); err != nil {
		t.Fatal(err)
	}
	qs := []predict.Query{
		{Src: last.Src, Dst: last.Dst, Time: last.Time + 100}, {Src: 4000, Dst: last.Dst, Time: last.Time + 2},
		{Src: 1, Dst: 12, Time: last.Time + 50}, {Src: 70000, Dst: 3, Time: last.Time + 50},
	}
	of := func(log *event.Log) *predict.Predictor {
		part := &dataset.Set{Name: set.Name, Log: log, Node: set.Node, Edge: set.Edge, Sampling: set.Sampling}
		return load(t, dir, predict.Options{Set: part})
	}
	want := score(t, of(whole), qs)
	p := of(set.Log.Select(func(i int) bool { return i < some }))
	early := score(t, p, qs)
	if slices.Equal(early, want) {
		t.Error("a hundred and fifty events make no difference")
	}
	var events []event.Event
	for i := some; i < n; i++ {
		events = append(events, set.Log.At(i))
	}
	for part := range slices.Chunk(append(events, newcomer), 37) {
		if err := p.Ingest(part); err != nil {
			t.Fatal(err)
		}
		if x := score(t, p, []predict.Query{{Src: 4000, Dst: 3, Time: last.Time + 60}}); math.IsNaN(float64(x[0])) {
			t.Fatal("a newcomer has no score")
		}
	}
	if got := score(t, p, qs); !slices.Equal(got, want) {
		t.Errorf("after the events came in: %v, all from the beginning: %v", got, want)
	}
}

// TestAttentionExplains: models that attend say how much each of the events that they look at counts.
func TestAttentionExplains(t *testing.T) {
	set := launch(t).set
	last := set.Log.At(set.Log.Len() - 1)
	q := []predict.Query{{Src: last.Src, Dst: last.Dst, Time: last.Time + 1}}
	for name, weighs := range map[string]bool{"tgat": true, "tgn": true, "jodie": false, "dyrep": false} {
		dir := t.TempDir()
		o := dygmamba.TrainOptions{Set: set, Model: name,
			Settings: append(slimSettings(t, name), "num_epochs=1"), Dir: dir}
		if _, err := dygmamba.Train(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		p := load(t, run.SeedDir(dir, 0), predict.Options{Set: set})
		e := explain(t, p, q)[0]
		if e.Logit != score(t, p, q)[0] || e.Weighted != weighs {
			t.Errorf("%s: %+v", name, e)
		}
		if !weighs {
			continue
		}
		for _, side := range []predict.Side{e.Source, e.Destination} {
			sum, moved := 0.0, false
			for _, patch := range side.Patches {
				sum += float64(patch.Weight)
				moved = moved || patch.Without != nil && patch.Without.Change != 0
			}
			if side.Events != 4 || math.Abs(sum-1) > 1e-5 || !moved {
				t.Errorf("%s: %d events with weights that add up to %v, withheld with effect: %v",
					name, side.Events, sum, moved)
			}
		}
	}
}
