package graphmixer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/modeltest"
)

func TestPresets(t *testing.T) {
	type row struct {
		Neighbors int
		Dropout   float64
		Strategy  string
		Epochs    int
	}
	for _, tt := range []struct {
		preset, data string
		want         row
	}{
		{"released", "wikipedia", row{30, 0.5, "recent", 100}},
		{"paper", "Wikipedia", row{30, 0.5, "recent", 200}},
		{"", "SocialEvo", row{20, 0.3, "recent", 200}},
		{"", "lastfm", row{10, 0, "recent", 200}},
		{"", "UNvote", row{20, 0, "uniform", 200}},
		{"released", "CanParl", row{20, 0.2, "uniform", 100}},
		{"", "my own data", row{20, 0.1, "recent", 100}},
	} {
		s, err := Factory.Spec(tt.preset, model.Data{Name: tt.data})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Config.(*Config)
		if diff := cmp.Diff(tt.want, row{c.Neighbors, c.Dropout, c.Strategy, s.Training.Epochs}); diff != "" {
			t.Errorf("%s %s: %s", tt.preset, tt.data, diff)
		}
		if c.TimeGap != 2000 || c.TimeGapMode != Count || c.ExactTimes {
			t.Errorf("%s: time_gap %v %s, exact times %v", tt.data, c.TimeGap, c.TimeGapMode, c.ExactTimes)
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
		"num_neighbors=0":                "num_neighbors is 0, must be at least 1",
		"num_neighbors=1":                "num_neighbors is 1, must be at least 2",
		"num_neighbors=2000000":          "at most 1048576",
		"edge_feat_dim=100000":           "edge_feat_dim is 100000, must be at least 1 and at most 65536",
		"num_layers=-1":                  "num_layers is -1",
		"time_feat_dim=1":                "frequencies run from 1 to 1e-9",
		"dropout=1":                      "dropout is 1, must be at least 0 and below 1",
		"dropout=NaN":                    "dropout is NaN",
		"sample_neighbor_strategy=last":  `neighbour strategy "last", must be recent, uniform or time_interval_aware`,
		"time_scaling_factor=0":          "time_scaling_factor is 0, must be above 0",
		"time_scaling_factor=-1":         "time_scaling_factor is -1, must be above 0",
		"time_gap=0.5":                   "time_gap is 0.5, must be a whole number of neighbours",
		"time_gap=NaN":                   "time_gap is NaN",
		"time_gap_mode=seconds":          `time_gap_mode is "seconds", must be "count" or "span"`,
		"time_gap_neighbors=0":           "time_gap_neighbors is 0",
		"time_gap_mode=span time_gap=0":  "time_gap is 0, must be a span of time above 0",
		"time_gap_mode=span time_gap=-1": "time_gap is -1",
	})
	if _, err := Factory.Spec("", model.Data{}, "time_gap_mode=span", "time_gap=0.5"); err != nil {
		t.Error(err)
	}
}

func TestBrief(t *testing.T) {
	c := Default
	if got := c.Brief(); got != "20 neighbours, recent, 2 mixers, dropout 0.1" {
		t.Error(got)
	}
	c.TimeGapMode, c.TimeGap = Span, 86400
	if got := c.Brief(); !strings.HasSuffix(got, ", node features of the last 86400") {
		t.Error(got)
	}
}

func TestConfigFromTensors(t *testing.T) {
	want := Default
	want.Neighbors, want.Layers, want.TimeDim, want.NodeDim, want.EdgeDim, want.TimeGap = 7, 3, 10, 12, 5, 30
	modeltest.Recognises(t, Factory, modeltest.Recognised{
		Config: &want, Shapes: modeltest.Shapes(declare(want, 0)), Told: []string{"time_gap=30"},
		Contradict: "num_neighbors=8", Without: "0.output_layer.bias", Name: "GraphMixer",
	})
}
