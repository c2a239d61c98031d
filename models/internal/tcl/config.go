package tcl

import (
	"cmp"
	"fmt"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Neighbors int     `json:"num_neighbors" about:"events of a node's sequence"`
	Strategy  string  `json:"sample_neighbor_strategy" about:"recent, uniform or time_interval_aware"`
	Scale     float64 `json:"time_scaling_factor" about:"time_interval_aware: decay per unit of time"`

	Layers  int     `json:"num_layers" about:"of attention, each within and across the sequences"`
	Heads   int     `json:"num_heads" about:"of attention"`
	TimeDim int     `json:"time_feat_dim" about:"width of the time encoding"`
	Dropout float64 `json:"dropout" about:"share left out at random in training"`
	NodeDim int     `json:"node_feat_dim" about:"node features, narrower ones padded; width of all layers"`
	EdgeDim int     `json:"edge_feat_dim" about:"event features, narrower ones padded"`

	FreezeTime bool `json:"freeze_time_encoder" about:"its frequencies are not trained"`
	ExactTimes bool `json:"exact_times" about:"how long ago from exact times, not from rounded ones"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{
	Neighbors: 20, Strategy: sample.Recent, Scale: 1e-6,
	Layers: 2, Heads: 2, TimeDim: 100, Dropout: 0.1, NodeDim: 172, EdgeDim: 172,
}

// Check says what is wrong with c.
func (c Config) Check() error {
	err := model.CheckSizes(
		model.Size{Key: "num_neighbors", Value: c.Neighbors, Most: model.Long},
		model.Size{Key: "num_layers", Value: c.Layers, Most: model.Wide},
		model.Size{Key: "num_heads", Value: c.Heads, Most: model.Wide},
		model.Size{Key: "time_feat_dim", Value: c.TimeDim, Most: model.Wide},
		model.Size{Key: "node_feat_dim", Value: c.NodeDim, Most: model.Wide},
		model.Size{Key: "edge_feat_dim", Value: c.EdgeDim, Most: model.Wide},
	)
	if err != nil {
		return err
	}
	if _, err := sample.NewPicker(c.picks()); err != nil {
		return err
	}
	if c.NodeDim%c.Heads != 0 {
		return fmt.Errorf("num_heads is %d, must divide node_feat_dim = %d", c.Heads, c.NodeDim)
	}
	return cmp.Or(model.CheckTimeDim(c.TimeDim), model.CheckScale(c.Scale), model.CheckDropout(c.Dropout))
}

// Brief is the settings in a few words.
func (c Config) Brief() string {
	s := fmt.Sprintf("%d neighbours, %s, %d layers, %d heads, dropout %v",
		c.Neighbors, c.Strategy, c.Layers, c.Heads, c.Dropout)
	if c.FreezeTime {
		s += ", time encoder frozen"
	}
	return s
}

// Conditions are what scores depend on beside their own past.
func (c Config) Conditions() []string { return c.picks().Conditions() }

func (c Config) picks() sample.PickerOptions {
	return sample.PickerOptions{Strategy: c.Strategy, Scale: c.Scale}
}

// rowLen is the length of a sequence: the node itself, then its neighbours.
func (c Config) rowLen() int { return c.Neighbors + 1 }
