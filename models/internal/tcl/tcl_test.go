package tcl

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// toy is the golden model's configuration.
var toy = []string{
	"node_feat_dim=8", "edge_feat_dim=8", "time_feat_dim=6", "num_neighbors=4", "num_layers=2", "num_heads=2",
	"dropout=0",
}

// with is toy changed by settings.
func with(settings ...string) []string { return append(append([]string{}, toy...), settings...) }

func TestForward(t *testing.T)  { modeltest.Forward(t, Factory, "TCL", toy...) }
func TestLearning(t *testing.T) { modeltest.Learning(t, Factory, "TCL", toy...) }

func TestSteps(t *testing.T) {
	for name, settings := range map[string][]string{
		"recent":  with("node_feat_dim=40", "num_neighbors=20", "dropout=0.2"),
		"frozen":  with("freeze_time_encoder=true", "edge_feat_dim=20"),
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

func TestInitialWeights(t *testing.T) { modeltest.StartsLikePyTorch(t, Factory, "tcl") }

func TestSize(t *testing.T) {
	if got := declare(Default, 0).Params().Count(); got != 884_453 {
		t.Errorf("%d parameters, published are 884453", got)
	}
}

func TestPlan(t *testing.T) {
	y := modeltest.NewToy(t, Factory, with("sample_neighbor_strategy=time_interval_aware", "exact_times=true")...)
	plan := y.Plan()
	want := sample.Both(sample.Draw{Neighbors: 4, RowLen: 5, Target: sample.TargetFirst})
	if diff := cmp.Diff(want, plan.Draws); diff != "" || plan.Picker == nil || !plan.ExactTimes {
		t.Errorf("%+v: %s", plan, diff)
	}
	if y := modeltest.NewToy(t, Factory, toy...); y.Plan().Picker != nil || y.Plan().ExactTimes {
		t.Errorf("%+v", y.Plan())
	}
}

// TestOwnTimeIsExact: rounding never moves the node itself, which stands at the query's time. Near 1e9 two float32 are
// 64 apart.
func TestOwnTimeIsExact(t *testing.T) {
	y := modeltest.NewToy(t, Factory, toy...)
	m := y.Model.(*Model)
	b := y.Batch([]sample.Query{{Src: 1, Dst: 6, Time: 1e9 + 20}})
	if b.Rows[0].Delta[0] == 0 {
		t.Fatal("the batch does not round")
	}
	tp := grad.NewTape(y.Device, false)
	defer tp.Close()
	m.input.load(m, tp, b)
	delta := y.Read(m.input.delta) // [2·5]
	if delta[0] != 0 || delta[5] != 0 || delta[4] == 0 || delta[9] == 0 {
		t.Errorf("times of two sequences %v, want 0 at the first position of each and nowhere else", delta)
	}
}

// TestStrangers: nodes that met nobody have sequences of padding but for themselves.
func TestStrangers(t *testing.T) {
	y := modeltest.NewToy(t, Factory, toy...)
	for _, x := range y.Logits([]sample.Query{{Src: 1, Dst: 6, Time: -5}, {Src: 400, Dst: 401, Time: 1e12}}) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Errorf("logit %v", x)
		}
	}
}

// TestWeigh: weights are those of real positions, add up to 1, and looking at them changes nothing.
func TestWeigh(t *testing.T) {
	y := modeltest.NewToy(t, Factory, with("dropout=0.5")...)
	b := y.Batch(append(y.Random(20), sample.Query{Src: 1, Dst: 6, Time: -5}))
	tp := grad.NewTape(y.Device, false)
	defer tp.Close()
	e, weights := y.Model.(model.Weigher).Weigh(tp, b)
	plain := y.Embed(tp, b)
	if diff := cmp.Diff(y.Read(plain.Src), y.Read(e.Src)); diff != "" {
		t.Error(diff)
	}
	if len(weights) != len(b.Rows) {
		t.Fatalf("weights for %d draws of %d", len(weights), len(b.Rows))
	}
	differ := false
	for d, w := range weights {
		host, r := y.Read(w), &b.Rows[d]
		if w.Dim(0) != len(b.Queries) || w.Dim(1) != r.Len {
			t.Fatalf("weights %v of rows of %d", w.Shape(), r.Len)
		}
		for i := range b.Queries {
			sum := 0.0
			for j, x := range host[i*r.Len : (i+1)*r.Len] {
				sum += x
				if padding := r.Node[i*r.Len+j] == 0; padding != (x == 0) {
					t.Errorf("position %d of row %d, node %d, has weight %v", j, i, r.Node[i*r.Len+j], x)
				}
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("the weights of row %d add up to %v", i, sum)
			}
			differ = differ || math.Abs(host[i*r.Len+r.Len-1]-host[i*r.Len]) > 1e-3
		}
	}
	if !differ {
		t.Error("every position weighs the same")
	}
}
