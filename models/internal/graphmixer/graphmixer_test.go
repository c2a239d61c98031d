package graphmixer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// toy is the golden model's configuration.
var toy = []string{
	"node_feat_dim=8", "edge_feat_dim=8", "time_feat_dim=6", "num_neighbors=4", "num_layers=2", "time_gap=10",
	"dropout=0",
}

// with is toy changed by settings.
func with(settings ...string) []string { return append(append([]string{}, toy...), settings...) }

func TestForward(t *testing.T)  { modeltest.Forward(t, Factory, "GraphMixer", toy...) }
func TestLearning(t *testing.T) { modeltest.Learning(t, Factory, "GraphMixer", toy...) }

func TestSteps(t *testing.T) {
	for name, settings := range map[string][]string{
		"count":   with("edge_feat_dim=40", "num_neighbors=20", "dropout=0.2"),
		"span":    with("time_gap_mode=span", "time_gap=7.5", "node_feat_dim=20", "dropout=0.2"),
		"uniform": with("sample_neighbor_strategy=uniform", "dropout=0.2"),
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.Steps(t, Factory, settings...)
			if name != "uniform" {
				modeltest.QueriesStandAlone(t, Factory, settings...)
			}
		})
	}
}

func TestInitialWeights(t *testing.T) { modeltest.StartsLikePyTorch(t, Factory, "graphmixer") }

// TestSize compares with the published sizes: the fixed time encoder is not counted.
func TestSize(t *testing.T) {
	for neighbors, want := range map[int]int{10: 582_318, 20: 582_988, 30: 584_058} {
		c := Default
		c.Neighbors = neighbors
		if got := declare(c, 0).Params().Count(); got != want+59_513 {
			t.Errorf("%d neighbours: %d parameters, want %d and 59513 of the predictor", neighbors, got, want)
		}
	}
}

// TestPlan: neighbours for their node features are left out only if they change neither a score nor a generator.
func TestPlan(t *testing.T) {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	some := dataset.Features{Rows: 2, Cols: 1, Data: []float32{0, 1}}
	none := dataset.Features{Rows: 2, Cols: 1, Data: []float32{0, 0}}
	draw := func(of sample.Root, n int) sample.Draw { return sample.Draw{Of: of, Neighbors: n, RowLen: n} }
	short := []sample.Draw{draw(sample.Src, 20), draw(sample.Dst, 20)}
	long := []sample.Draw{draw(sample.Src, 20), draw(sample.Src, 7), draw(sample.Dst, 20), draw(sample.Dst, 7)}
	for _, tt := range []struct {
		node     dataset.Features
		settings []string
		want     []sample.Draw
	}{
		{none, []string{"time_gap=7"}, short},
		{dataset.Features{}, []string{"time_gap=7"}, short},
		{some, []string{"time_gap=7"}, long},
		{none, []string{"time_gap=7", "sample_neighbor_strategy=uniform"}, long},
		{some, []string{"time_gap=0.5", "time_gap_mode=span", "time_gap_neighbors=7"}, long},
	} {
		spec, err := Factory.Spec("", model.Data{Imported: true}, tt.settings...)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Factory.Build(model.Env{Device: dev, Node: tt.node}, spec)
		if err != nil {
			t.Fatal(err)
		}
		plan := m.Plan()
		if diff := cmp.Diff(tt.want, plan.Draws); diff != "" {
			t.Errorf("%v: %s", tt.settings, diff)
		}
		random := strings.Contains(fmt.Sprint(tt.settings), "uniform")
		if (plan.Picker != nil) != random || !plan.ExactTimes || (len(spec.Conditions()) > 0) != random {
			t.Errorf("%v: %+v, conditions %q", tt.settings, plan, spec.Conditions())
		}
		m.Close()
	}
}

// TestNodeEncoder computes the mean of the neighbours' features from the list of events.
func TestNodeEncoder(t *testing.T) {
	for _, tt := range []struct {
		mode string
		gap  float64
		most int
	}{{Count, 3, 1}, {Count, 50, 1}, {Span, 4, 50}, {Span, 1e9, 50}, {Span, 1e9, 5}} {
		gap, most := fmt.Sprint("time_gap=", tt.gap), fmt.Sprint("time_gap_neighbors=", tt.most)
		y := modeltest.NewToy(t, Factory, with("node_feat_dim=9", "time_gap_mode="+tt.mode, gap, most)...)
		m := y.Model.(*Model)
		qs := append(y.Random(20), sample.Query{Src: 1, Dst: 6, Time: -1}) // the last knows nobody
		var got, want []float64
		tp := grad.NewTape(y.Device, false)
		m.input.load(m, tp, y.Batch(qs))
		got = y.Read(m.neighbors(tp))
		tp.Close()
		for _, side := range []func(sample.Query) int32{
			func(q sample.Query) int32 { return q.Src }, func(q sample.Query) int32 { return q.Dst },
		} {
			for _, q := range qs {
				want = append(want, plainNeighbors(y, side(q), q.Time, tt.mode, tt.gap, tt.most)...)
			}
		}
		modeltest.Near(t, fmt.Sprint(tt), got, want, 1e-6)
	}
}

func plainNeighbors(y *modeltest.Toy, node int32, at float64, mode string, gap float64, most int) []float64 {
	feature := func(n int32, k int) float64 { return float64(y.Graph.NodeFeatures.Data[int(n)*8+k]) }
	var met []int32 // newest first
	for i := len(y.Graph.Src) - 1; i >= 0; i-- {
		src, dst, before := y.Graph.Src[i], y.Graph.Dst[i], y.Graph.Time[i]
		full := mode == Span && len(met) == most || mode == Count && len(met) == int(gap)
		if full || before >= at || mode == Span && at-before >= gap {
			continue
		}
		switch node {
		case src:
			met = append(met, dst)
		case dst:
			met = append(met, src)
		}
	}
	mean := make([]float64, 8)
	for k := range mean {
		for _, n := range met {
			mean[k] += feature(n, k) / float64(len(met))
		}
		if mode == Count {
			mean[k] /= gap
		}
		mean[k] += feature(node, k)
	}
	return mean
}

// TestFrozenTimes: the fixed frequencies stay as they are, and times still count.
func TestFrozenTimes(t *testing.T) {
	y := modeltest.NewToy(t, Factory, toy...)
	for _, p := range y.Params().All() {
		if p.Frozen != strings.HasPrefix(p.Name, "0.time_encoder.") {
			t.Errorf("%s: frozen is %v", p.Name, p.Frozen)
		}
	}
	last := y.Graph.Time[len(y.Graph.Time)-1]
	qs := []sample.Query{{Src: 1, Dst: 6, Time: last + 10}, {Src: 1, Dst: 6, Time: last + 1000}}
	if logits := y.Logits(qs); math.Abs(logits[0]-logits[1]) < 1e-6 {
		t.Errorf("the time of a query makes no difference: %v", logits)
	}
}
