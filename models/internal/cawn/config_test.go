package cawn

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
		Epochs    int
	}
	for _, tt := range []struct {
		preset, data string
		want         row
	}{
		{"released", "wikipedia", row{32, 0.1, 100}},
		{"paper", "reddit", row{32, 0.1, 200}},
		{"paper", "mooc", row{64, 0.1, 200}},
		{"paper", "LastFM", row{128, 0.1, 200}},
		{"paper", "enron", row{32, 0.1, 200}},
		{"paper", "uci", row{64, 0.1, 200}},
		{"paper", "USLegis", row{32, 0.1, 200}},
		{"", "SocialEvo", row{64, 0.1, 200}},
		{"", "CanParl", row{128, 0, 200}},
		{"released", "UNvote", row{64, 0.1, 100}},
		{"", "my own data", row{32, 0.1, 100}},
	} {
		s, err := Factory.Spec(tt.preset, model.Data{Name: tt.data})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Config.(*Config)
		if diff := cmp.Diff(tt.want, row{c.Neighbors, c.Dropout, s.Training.Epochs}); diff != "" {
			t.Errorf("%s %s: %s", tt.preset, tt.data, diff)
		}
		if c.Length != 1 || c.Strategy != "time_interval_aware" || c.Scale != 1e-6 || c.ExactTimes {
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
		"walk_length=0":                 "walk_length is 0, must be at least 1 and at most 7",
		"walk_length=8":                 "walk_length is 8, must be at least 1 and at most 7",
		"walk_length=7":                 "walk_length is 7, must make at most 1048576 walks: 64 neighbours",
		"position_feat_dim=1":           "position_feat_dim is 1, must be at least 2",
		"node_feat_dim=100000":          "node_feat_dim is 100000, must be at least 1 and at most 65536",
		"num_walk_heads=0":              "num_walk_heads is 0",
		"time_feat_dim=1":               "frequencies run from 1 to 1e-9",
		"dropout=1":                     "dropout is 1, must be at least 0 and below 1",
		"sample_neighbor_strategy=last": `neighbour strategy "last", must be recent, uniform or time_interval_aware`,
		"time_scaling_factor=0":         "time_scaling_factor is 0, must be above 0",
	})
}

func TestBrief(t *testing.T) {
	c := Default
	if got := c.Brief(); got != "walks of 1, 32 neighbours, time_interval_aware, 8 heads, dropout 0.1" {
		t.Error(got)
	}
	c.FreezeTime = true
	if got := c.Brief(); !strings.HasSuffix(got, ", time encoder frozen") {
		t.Error(got)
	}
	if c.width() != 312 || c.stepDim() != 616 {
		t.Errorf("widths %d and %d, want 312 and 616", c.width(), c.stepDim())
	}
}

func TestConfigFromTensors(t *testing.T) {
	want := Default
	want.Neighbors, want.Length, want.TimeDim, want.PositionDim, want.NodeDim, want.EdgeDim = 7, 3, 10, 9, 12, 5
	modeltest.Recognises(t, Factory, modeltest.Recognised{
		Config: &want, Shapes: modeltest.Shapes(declare(want, 0)), Told: []string{"num_neighbors=7"},
		Contradict: "walk_length=2", Without: "0.walk_encoder.projection_layers.1.bias", Name: "CAWN",
	})
}
