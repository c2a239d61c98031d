package models

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// TestEveryModel holds what every model promises: it answers each query with a number, the same one from the same seed, another one from
// another seed, and the same one after its weights were saved and its configuration written down.
func TestEveryModel(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 6, Targets: 6, Events: 300})
	if err != nil {
		t.Fatal(err)
	}
	past := index.Freeze(set.Log)
	var queries []sample.Query
	for i := range 10 {
		e := set.Log.At(20 + 25*i)
		queries = append(queries, sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time})
	}
	for name, factory := range All {
		if !factory.Trains {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dev := cpu.New(cpu.Options{Threads: 2})
			defer dev.Close()
			build := func(s model.Spec, seed uint64) model.Model {
				m, err := factory.Build(model.Env{Device: dev, Node: set.Node, Edge: set.Edge, NumNodes: set.NumNodes(), Seed: seed}, s)
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			score := func(m model.Model) []float32 {
				var b sample.Batch
				sample.Gather(past, m.Plan(), queries, &b)
				out := make([]float32, len(queries))
				scorer := model.NewScorer(m)
				defer scorer.Close()
				if err := scorer.Score(&b, out); err != nil {
					t.Fatal(err)
				}
				return out
			}
			if factory.Summary == "" || len(factory.Presets) == 0 || len(factory.Keys()) == 0 {
				t.Errorf("summary %q, presets %v, keys %v", factory.Summary, factory.Presets, factory.Keys())
			}
			spec, err := factory.Spec("", model.DataOf(set))
			if err != nil {
				t.Fatal(err)
			}
			m := build(spec, 1)
			want := score(m)
			for _, x := range want {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Fatalf("logits %v", want)
				}
			}
			if again := score(build(spec, 1)); !slices.Equal(want, again) {
				t.Errorf("the same seed gives %v and %v", want, again)
			}
			if other := score(build(spec, 2)); slices.Equal(want, other) {
				t.Errorf("two seeds give %v", want)
			}

			var file checkpoint.File
			file.AddParams(m.Params())
			raw, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			if spec, err = factory.Decode(raw); err != nil {
				t.Fatal(err)
			}
			restored := build(spec, 2)
			if err := file.RestoreParams(restored.Params()); err != nil {
				t.Fatal(err)
			}
			if again := score(restored); !slices.Equal(want, again) {
				t.Errorf("after saving and loading: %v, want %v", again, want)
			}
		})
	}
}
