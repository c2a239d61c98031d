package tcl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
)

func TestPresets(t *testing.T) {
	type row struct {
		Dropout  float64
		Strategy string
		Epochs   int
	}
	for _, tt := range []struct {
		preset, data string
		want         row
	}{
		{"released", "wikipedia", row{0.1, "recent", 100}},
		{"paper", "Reddit", row{0.1, "uniform", 200}},
		{"", "SocialEvo", row{0, "recent", 200}},
		{"", "uci", row{0, "recent", 200}},
		{"", "USLegis", row{0.3, "uniform", 200}},
		{"released", "CanParl", row{0.2, "uniform", 100}},
		{"", "my own data", row{0.1, "recent", 100}},
	} {
		s, err := Factory.Spec(tt.preset, model.Data{Name: tt.data})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Config.(*Config)
		if diff := cmp.Diff(tt.want, row{c.Dropout, c.Strategy, s.Training.Epochs}); diff != "" {
			t.Errorf("%s %s: %s", tt.preset, tt.data, diff)
		}
		if c.Neighbors != 20 || c.Layers != 2 || c.Heads != 2 || c.ExactTimes {
			t.Errorf("%s %s: %+v", tt.preset, tt.data, c)
		}
	}
	if len(best) != 13 {
		t.Errorf("%d data sets have a configuration, the tables have 13", len(best))
	}
	if s, err := Factory.Spec("", model.Data{Imported: true}); err != nil || !s.Config.(*Config).ExactTimes {
		t.Errorf("imported data are looked at with rounded times: %+v, %v", s, err)
	}
}

func TestBadConfigurations(t *testing.T) {
	modeltest.Refuses(t, Factory, map[string]string{
		"num_neighbors=0":               "num_neighbors is 0, must be at least 1",
		"num_neighbors=2000000":         "at most 1048576",
		"node_feat_dim=100000":          "node_feat_dim is 100000, must be at least 1 and at most 65536",
		"num_layers=0":                  "num_layers is 0",
		"num_heads=3":                   "num_heads is 3, must divide node_feat_dim = 172",
		"time_feat_dim=1":               "frequencies run from 1 to 1e-9",
		"dropout=1":                     "dropout is 1, must be at least 0 and below 1",
		"sample_neighbor_strategy=last": `neighbour strategy "last", must be recent, uniform or time_interval_aware`,
		"time_scaling_factor=0":         "time_scaling_factor is 0, must be above 0",
	})
}

func TestBrief(t *testing.T) {
	c := Default
	if got := c.Brief(); got != "20 neighbours, recent, 2 layers, 2 heads, dropout 0.1" {
		t.Error(got)
	}
	c.FreezeTime = true
	if got := c.Brief(); !strings.HasSuffix(got, ", time encoder frozen") {
		t.Error(got)
	}
}

func TestConfigFromTensors(t *testing.T) {
	want := Default
	want.Neighbors, want.Layers, want.TimeDim, want.NodeDim, want.EdgeDim, want.Heads = 7, 3, 10, 12, 5, 4
	modeltest.Recognises(t, Factory, modeltest.Recognised{
		Config: &want, Shapes: modeltest.Shapes(declare(want, 0)), Told: []string{"num_heads=4"},
		Contradict: "num_neighbors=8", Without: "0.output_layer.bias", Name: "TCL",
	})
}
