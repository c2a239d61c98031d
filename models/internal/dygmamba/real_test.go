package dygmamba

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/golden"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// TestRealData compares the model at its real size with the twin on real events: edge features four columns wide where
// the model expects 172, self-loops, times in seconds, several patch sizes.
func TestRealData(t *testing.T) {
	if testing.Short() {
		t.Skip("the twin takes seconds at this size")
	}
	dir := golden.Shared(t, "data")
	for name, patches := range map[string][]int{"mooc": {1, 8}, "enron": {8}, "USLegis": {4}, "CanParl": {64}} {
		set, err := dataset.Open(context.Background(), name, dataset.Options{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		log := set.Log.Select(func(i int) bool { return i < 20000 })
		for _, patch := range patches {
			t.Run(fmt.Sprintf("%s, patches of %d", name, patch), func(t *testing.T) {
				c := with(Default, func(c *Config) { c.Patch, c.Length, c.Meetings = patch, 32*patch, 10 })
				dev := testDevice(t, 2)
				env := model.Env{Device: dev, Node: set.Node, Edge: set.Edge, Seed: 7}
				built, err := Factory.Build(env, model.Spec{Config: &c})
				if err != nil {
					t.Fatal(err)
				}
				m := built.(*Model)
				defer m.Close()
				var queries []sample.Query
				for i := range 2 {
					e, other := log.At(19999-i*8777), log.At(100+i*31)
					queries = append(queries,
						sample.Query{Src: e.Src, Dst: e.Dst, Time: e.Time},
						sample.Query{Src: e.Src, Dst: other.Dst, Time: e.Time + 0.5})
				}
				var b sample.Batch
				sample.Gather(index.Freeze(log), m.Plan(), queries, &b)
				out := m.Score(grad.NewTape(dev, false), &b)
				logits := make([]float32, out.Len())
				dev.Read(logits, out.Data)

				twin := &twin{c: c, w: modeltest.Plain{}}
				twin.node, twin.edge = make([][]float64, set.NumNodes()), make([][]float64, log.Len()+1)
				for i := range log.Len() {
					e := log.At(i)
					twin.events = append(twin.events, twinEvent{int(e.Src), int(e.Dst), e.Time, int(e.Edge)})
					twin.edge[e.Edge] = wide(set.Edge.Row(int(e.Edge)))
				}
				for _, p := range m.Params().All() {
					twin.w[bare(p.Name)] = wide(m.Params().Read(p))
				}
				worst := 0.0
				for i, q := range queries {
					want := twin.answer(int(q.Src), int(q.Dst), q.Time).logit
					worst = max(worst, math.Abs(sigmoid(float64(logits[i]))-sigmoid(want)))
				}
				if !(worst <= 1e-5) {
					t.Errorf("a probability is off by %v", worst)
				}
				t.Logf("off by at most %.1e", worst)
			})
		}
	}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
