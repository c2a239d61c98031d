package jodie

import (
	"testing"

	"github.com/dygmamba/dygmamba/model/modeltest"
)

// TestSizes compares with the parameters of the released program.
func TestSizes(t *testing.T) { modeltest.Count(t, declare(Default, 0), 195937, 136424) }

func TestPresets(t *testing.T) {
	modeltest.Presets(t, Factory, map[string]string{
		"released on mooc":   "dropout=0.2 num_epochs=100 order=arrival",
		"released on lastfm": "dropout=0.3 num_epochs=100 order=arrival",
		"paper on uci":       "dropout=0.4 num_epochs=200 order=arrival",
		"paper on CanParl":   "dropout=0 num_epochs=200 order=arrival",
		"paper on UNtrade":   "dropout=0.4 num_epochs=200 order=arrival",
		"strict on USLegis":  "dropout=0.2 num_epochs=200 order=strict",
		"strict on my own":   "dropout=0.1 num_epochs=200 order=strict",
	})
	modeltest.Prefers(t, Factory, "paper", "strict")
}

func TestBadConfigurations(t *testing.T) {
	modeltest.Refuses(t, Factory, map[string]string{
		"time_feat_dim=1":       "must be at least 2",
		"node_feat_dim=0":       "node_feat_dim is 0, must be at least 1",
		"edge_feat_dim=1000000": "must be at least 1 and at most 65536",
		"dropout=1":             "must be at least 0 and below 1",
		"dropout=NaN":           "dropout is NaN",
		"last_message=first":    `last_message is "first", must be role or time`,
	})
	modeltest.RefusesWide(t, Factory)
}

// TestConfigFromTensors recognises weights of the released program by their shapes.
func TestConfigFromTensors(t *testing.T) {
	c := Default
	c.NodeDim, c.EdgeDim, c.TimeDim = 24, 10, 8
	shapes := modeltest.Shapes(declare(c, 0))
	for _, bank := range []string{"0.memory_bank.", "0.memory_updater.memory_bank."} {
		shapes[bank+"node_memories"], shapes[bank+"node_last_updated_times"] = []int{185, 24}, []int{185}
	}
	modeltest.Recognises(t, Factory, modeltest.Recognised{
		Config: &c, Shapes: shapes,
		Contradict: "time_feat_dim=12", Without: "1.fc2.bias", Name: "JODIE",
	})
}
