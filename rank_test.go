package dygmamba_test

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
)

// Ask whom a node will meet, among all that anyone has met.
func ExamplePredictor_Rank() {
	dir, set := exampleRun()
	p, err := predict.Load(dir, predict.Options{Set: set})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	u, _ := set.Names.Source("u1")
	end := set.Log.At(set.Log.Len() - 1).Time
	best, err := p.Rank(context.Background(), u, end+1, nil, 3)
	if err != nil {
		log.Fatal(err)
	}
	for place, x := range best {
		fmt.Println(place+1, "more likely than not:", x.Probability > 0.5, "met before:", x.Meetings > 0)
	}
	// Output:
	// 1 more likely than not: true met before: true
	// 2 more likely than not: true met before: true
	// 3 more likely than not: true met before: true
}

// TestRank: the most likely partners, with the scores that Score gives, to the last digit.
func TestRank(t *testing.T) {
	r := launch(t)
	for _, size := range []string{"3", "100"} {
		p := load(t, r.dir, predict.Options{Set: r.set, Settings: []string{"batch_size=" + size}})
		for _, at := range []event.Time{-1, r.set.Log.At(300).Time, r.set.Log.At(r.set.Log.Len()-1).Time + 10} {
			for _, src := range []event.Node{1, 5, 4000} {
				ranked, err := p.Rank(t.Context(), src, at, nil, 0)
				if err != nil {
					t.Fatal(err)
				}
				checkRanked(t, p, r, src, at, ranked)
				best, err := p.Rank(t.Context(), src, at, nil, 3)
				if err != nil || !slices.Equal(best, ranked[:min(3, len(ranked))]) {
					t.Errorf("the best 3 are %v, %v; want the first of %v", best, err, ranked)
				}
			}
		}
	}
}

// checkRanked compares a ranking of all destinations with scores and with the events before its time.
func checkRanked(
	t *testing.T, p *predict.Predictor, r trained, src event.Node, at event.Time, ranked []predict.Partner,
) {
	t.Helper()
	met := map[event.Node]int{}
	for i := range r.set.Log.Len() {
		if e := r.set.Log.At(i); e.Time < at {
			met[e.Dst] += 0
			if e.Src == src {
				met[e.Dst]++
			}
		}
	}
	var qs []predict.Query
	for _, x := range ranked {
		qs = append(qs, predict.Query{Src: src, Dst: x.Node, Time: at})
		if n, ok := met[x.Node]; !ok || n != x.Meetings {
			t.Errorf("%d: met %d times, want %d (a destination: %v)", x.Node, x.Meetings, n, ok)
		}
	}
	if len(ranked) != len(met) {
		t.Errorf("%d partners, want all %d destinations before %v", len(ranked), len(met), at)
	}
	for i, want := range score(t, p, qs) {
		got := ranked[i]
		if math.Float32bits(got.Logit) != math.Float32bits(want) || got.Probability != p.Probability(want) {
			t.Errorf("%d has %v, asked alone %v", got.Node, got.Logit, want)
		}
		if i > 0 && ranked[i].Logit > ranked[i-1].Logit {
			t.Errorf("place %d is better than the one before", i)
		}
	}
}

// BenchmarkRank ranks 1,000 candidates on uci, with DyGMamba's settings for it and weights that have learned nothing.
func BenchmarkRank(b *testing.B) {
	set, err := dataset.Open(context.Background(), "uci", dataset.Options{DataDir: golden.Shared(b, "data")})
	if err != nil {
		b.Fatal(err)
	}
	defer set.Close()
	p := load(b, untrained(b, set, dygmamba.DefaultModel, ""), predict.Options{Set: set})
	last := set.Log.At(set.Log.Len() - 1)
	candidates := make([]event.Node, 1000)
	queries := make([]predict.Query, len(candidates))
	for i := range candidates {
		candidates[i] = event.Node(i + 1)
		queries[i] = predict.Query{Src: last.Src, Dst: candidates[i], Time: last.Time + 1}
	}
	b.Run("rank", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.Rank(b.Context(), last.Src, last.Time+1, candidates, 10); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("score", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.Score(b.Context(), queries); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// untrained is a checkpoint of a model at its initial weights, with the settings that a data set is trained with.
func untrained(t testing.TB, set *dataset.Set, name, preset string) string {
	t.Helper()
	factory, err := model.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := factory.Spec(preset, model.DataOf(set))
	if err != nil {
		t.Fatal(err)
	}
	env := model.Env{Device: newCPU(t), Node: set.Node, Edge: set.Edge, NumNodes: set.NumNodes(), Seed: 1}
	env.Train = func() (event.Span, error) { return set.Log.Span(0, set.Log.Len()/2), nil }
	m, err := factory.Build(env, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var f checkpoint.File
	f.AddParams(m.Params())
	if err := predict.Configure(&f, name, spec.Preset, model.DataOf(set), nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "untrained.safetensors")
	if err := checkpoint.Save(path, f); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRankEveryModel: whatever the model, a candidate has the score that it has when it is asked about alone.
func TestRankEveryModel(t *testing.T) {
	r := launch(t)
	at := r.set.Log.At(700).Time
	for _, name := range models.Names(true) {
		// the latter of some models draw neighbours, or pad rows by call
		for _, preset := range []string{"", models.Get(name).Presets[0]} {
			t.Run(name+" "+preset, func(t *testing.T) {
				if preset != "" && strings.HasPrefix(name, "dygmamba") {
					t.Skip("is as the other")
				}
				order := protocol.Order("")
				if models.Get(name).Remembers {
					order = protocol.Strict
				}
				p := load(t, untrained(t, r.set, name, preset),
					predict.Options{Set: r.set, Order: order,
						Settings: []string{"batch_size=7"}})
				ranked, err := p.Rank(t.Context(), 3, at, nil, 0)
				if err != nil || len(ranked) != 10 {
					t.Fatalf("%d partners, %v", len(ranked), err)
				}
				for _, x := range ranked {
					if want := score(t, p, []predict.Query{{Src: 3, Dst: x.Node, Time: at}})[0]; x.Logit != want {
						t.Errorf("%d has %v, alone %v", x.Node, x.Logit, want)
					}
				}
			})
		}
	}
}

// TestBest: a ranking that does not ask about everybody has the model's own scores, the best first, and finds the same
// where events came in one by one.
func TestBest(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 20, Targets: 600, Events: 4000})
	if err != nil {
		t.Fatal(err)
	}
	path := untrained(t, set, dygmamba.DefaultModel, "quick")
	half := *set
	half.Log = set.Log.Part(0, 2000)
	whole, grown := load(t, path, predict.Options{Set: set}), load(t, path, predict.Options{Set: &half})
	var rest []event.Event
	for i := 2000; i < set.Log.Len(); i++ {
		rest = append(rest, set.Log.At(i))
	}
	if err := grown.Ingest(rest); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{1500, 3000, 3999} {
		e := set.Log.At(i)
		best, err := whole.Best(t.Context(), e.Src, e.Time, nil, 5)
		if err != nil {
			t.Fatal(err)
		}
		all, err := whole.Rank(t.Context(), e.Src, e.Time, nil, 0)
		if err != nil || best.Candidates != len(all) || len(best.Partners) != 5 {
			t.Fatalf("%d of %d candidates, want 5 of %d, %v", len(best.Partners), best.Candidates, len(all), err)
		}
		for _, x := range best.Partners {
			if !slices.Contains(all, x) {
				t.Errorf("event %d: %+v is not in the ranking of all", i, x)
			}
		}
		down := func(a, b predict.Partner) int { return cmp.Compare(b.Logit, a.Logit) }
		if !slices.IsSortedFunc(best.Partners, down) {
			t.Errorf("event %d: not the best first: %v", i, best.Partners)
		}
		again, err := grown.Best(t.Context(), e.Src, e.Time, nil, 5)
		if err != nil || again.Scored != best.Scored || !slices.Equal(again.Partners, best.Partners) {
			t.Errorf("event %d: with events that came in %+v, want %+v, %v", i, again, best, err)
		}
	}
}
