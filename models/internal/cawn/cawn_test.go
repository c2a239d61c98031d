package cawn

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/sample"
)

// toy is the golden model's configuration.
var toy = []string{
	"node_feat_dim=8", "edge_feat_dim=8", "time_feat_dim=6", "position_feat_dim=6", "num_neighbors=4", "walk_length=1",
	"num_walk_heads=2", "dropout=0", "sample_neighbor_strategy=recent",
}

// with is toy changed by settings.
func with(settings ...string) []string { return append(append([]string{}, toy...), settings...) }

func TestForward(t *testing.T)  { modeltest.Forward(t, Factory, "CAWN_recent_sampler", toy...) }
func TestLearning(t *testing.T) { modeltest.Learning(t, Factory, "CAWN_recent_sampler", toy...) }

func TestSteps(t *testing.T) {
	for name, settings := range map[string][]string{
		"recent": with("node_feat_dim=40", "num_neighbors=20", "dropout=0.2"),
		"long":   with("walk_length=3", "num_neighbors=3", "exact_times=true"),
		"picked": with("walk_length=2", "sample_neighbor_strategy=time_interval_aware", "dropout=0.2"),
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.Steps(t, Factory, settings...)
			if name != "picked" {
				modeltest.QueriesStandAlone(t, Factory, settings...)
			}
		})
	}
}

func TestInitialWeights(t *testing.T) { modeltest.StartsLikePyTorch(t, Factory, "cawn") }

func TestSize(t *testing.T) {
	if got := declare(Default, 0).Params().Count(); got != 4_022_717 {
		t.Errorf("%d parameters, published are 4022717", got)
	}
}

func TestPlan(t *testing.T) {
	draw := func(of sample.Root) sample.Draw { return sample.Draw{Of: of, Neighbors: 4, RowLen: 4} }
	picked := with("sample_neighbor_strategy=time_interval_aware", "exact_times=true")
	one := modeltest.NewToy(t, Factory, picked...).Plan()
	want := []sample.Draw{draw(sample.Src), draw(sample.Dst)}
	if diff := cmp.Diff(want, one.Draws); diff != "" || one.Picker == nil || !one.ExactTimes {
		t.Errorf("%+v: %s", one, diff)
	}
	three := modeltest.NewToy(t, Factory, with("walk_length=3")...).Plan()
	want = []sample.Draw{
		draw(sample.Src), draw(sample.Hop(0)), draw(sample.Hop(1)),
		draw(sample.Dst), draw(sample.Hop(3)), draw(sample.Hop(4)),
	}
	if diff := cmp.Diff(want, three.Draws); diff != "" || three.Picker != nil || three.ExactTimes {
		t.Errorf("%+v: %s", three, diff)
	}
}
