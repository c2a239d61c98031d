package tgat

import (
	"testing"

	"github.com/dygmamba/dygmamba/model/modeltest"
)

// TestSizes compares with the parameters of the released program.
func TestSizes(t *testing.T) { modeltest.Count(t, declare(Default, 0), 1052945, 993432) }

func TestPresets(t *testing.T) {
	modeltest.Presets(t, Factory, map[string]string{
		"released on reddit": "dropout=0.1 sample_neighbor_strategy=uniform num_epochs=100 order=",
		"released on enron":  "dropout=0.2 sample_neighbor_strategy=recent num_epochs=100 order=",
		"paper on wikipedia": "dropout=0.1 sample_neighbor_strategy=recent num_epochs=200 order=",
		"paper on CanParl":   "dropout=0.2 sample_neighbor_strategy=uniform num_epochs=200 order=",
		"paper on UNtrade":   "dropout=0.1 sample_neighbor_strategy=uniform num_epochs=200 order=",
		"paper on UNvote":    "dropout=0.2 sample_neighbor_strategy=recent num_epochs=200 order=",
		"paper on my own":    "dropout=0.1 sample_neighbor_strategy=recent num_epochs=200 order=",
	})
	modeltest.Prefers(t, Factory, "paper", "paper")
}

func TestBadConfigurations(t *testing.T) {
	modeltest.Refuses(t, Factory, map[string]string{
		"time_feat_dim=1":              "must be at least 2",
		"node_feat_dim=0":              "node_feat_dim is 0, must be at least 1",
		"edge_feat_dim=1000000":        "must be at least 1 and at most 65536",
		"dropout=1":                    "must be at least 0 and below 1",
		"dropout=NaN":                  "dropout is NaN",
		"num_heads=3":                  "must divide node_feat_dim + time_feat_dim = 272",
		"num_layers=9":                 "num_layers is 9, must be at least 1 and at most 8",
		"num_neighbors=-1":             "num_neighbors is -1",
		"sample_neighbor_strategy=old": `neighbour strategy "old"`,
		"last_message=time":            `no key "last_message"`,
	})
	modeltest.RefusesWide(t, Factory)
}

// TestConfigFromTensors recognises weights of the released program by their shapes.
func TestConfigFromTensors(t *testing.T) {
	c := Default
	c.NodeDim, c.EdgeDim, c.TimeDim = 24, 10, 8
	c.Layers, c.Heads, c.Neighbors = 3, 4, 7
	shapes := modeltest.Shapes(declare(c, 0))
	modeltest.Recognises(t, Factory, modeltest.Recognised{
		Config: &c, Shapes: shapes, Told: []string{"num_heads=4", "num_neighbors=7"},
		Contradict: "time_feat_dim=12", Without: "1.fc2.bias", Name: "TGAT",
	})
}
