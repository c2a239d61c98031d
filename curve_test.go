package dygmamba_test

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// A curve is what the model answers at each of its moments: those before the query, its own, and those after. It sees
// nothing later, and asks only when it is told to.
func TestCurve(t *testing.T) {
	r := launch(t)
	p := load(t, r.dir, predict.Options{Set: r.set})
	qs := questions(r.set)[:3]
	if found := explain(t, p, qs); found[0].Curve != nil {
		t.Error("a curve that nobody asked for")
	}
	p.CurvePoints = 10
	last := r.set.Log.At(r.set.Log.Len() - 1).Time
	reach := (last - r.set.Log.At(0).Time) / 20
	for i, e := range explain(t, p, qs) {
		c := e.Curve
		if len(c) != 21 || c[10].Time != qs[i].Time || math.Abs(c[20].Time-c[0].Time-2*reach) > 1e-9 {
			t.Fatalf("query %d has %d moments, from %v to %v", i, len(c), c[0], c[len(c)-1])
		}
		if math.Abs(c[10].Probability-e.Probability) > 1e-6 {
			t.Errorf("query %d has %v, in its curve %v", i, e.Probability, c[10].Probability)
		}
		for _, m := range []predict.CurvePoint{c[0], c[13]} {
			q := qs[i]
			q.Time = m.Time
			if want := p.Probability(score(t, p, []predict.Query{q})[0]); math.Abs(m.Probability-want) > 1e-6 {
				t.Errorf("query %d has %v at %v, alone %v", i, m.Probability, m.Time, want)
			}
		}
	}
}

// A week either way where times are dates; and in the order of arrival a memory is asked about the future alone.
func TestCurveReach(t *testing.T) {
	set, err := dataset.Periodic(dataset.PeriodicOptions{Events: 1000, Sources: 5, Targets: 5})
	if err != nil {
		t.Fatal(err)
	}
	set.TimeFormat = dataset.TimeDate
	for order, want := range map[protocol.Order]int{protocol.Strict: 15, protocol.Arrival: 7} {
		o := dygmamba.TrainOptions{Set: set, Model: "jodie", Order: order, Dir: t.TempDir(), Settings: []string{
			"num_epochs=1", "node_feat_dim=8", "edge_feat_dim=8", "time_feat_dim=8"}}
		if _, err := dygmamba.Train(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		p := load(t, run.SeedDir(o.Dir, 0), predict.Options{Set: set})
		end := set.Log.At(set.Log.Len() - 1).Time
		curves, err := p.Curves(t.Context(), []predict.Query{{Src: 1, Dst: 7, Time: end}}, 7)
		if err != nil || len(curves[0]) != want || curves[0][want-1].Time != end+7*24*3600 {
			t.Errorf("%s: %d moments, want %d; %v", order, len(curves[0]), want, err)
		}
	}
}
