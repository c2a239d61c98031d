package tgn

import (
	"github.com/dygmamba/dygmamba/models/internal/attention"
	"github.com/dygmamba/dygmamba/models/internal/messages"
	"github.com/dygmamba/dygmamba/sample"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Layers    int     `json:"num_layers" about:"of attention"`
	Heads     int     `json:"num_heads" about:"of attention"`
	Neighbors int     `json:"num_neighbors" about:"of a node that are looked at"`
	Strategy  string  `json:"sample_neighbor_strategy" about:"recent, uniform or time_interval_aware"`
	Scale     float64 `json:"time_scaling_factor" about:"time_interval_aware: decay per unit of time"`
	Dropout   float64 `json:"dropout" about:"share left out at random in training"`
	TimeDim   int     `json:"time_feat_dim" about:"width of the time encoding"`
	NodeDim   int     `json:"node_feat_dim" about:"width of memories and node features, narrower ones padded"`
	EdgeDim   int     `json:"edge_feat_dim" about:"event features, narrower ones padded"`

	LastMessage string `json:"last_message" about:"of a batch: role (destination's after source's) or time"`
	FreezeTime  bool   `json:"freeze_time_encoder" about:"its frequencies are not trained"`
	ExactTimes  bool   `json:"exact_times" about:"how long ago from exact times, not from rounded ones"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{
	Layers: 1, Heads: 2, Neighbors: 10, Strategy: sample.Recent, Scale: 1e-6, Dropout: 0.1,
	TimeDim: 100, NodeDim: 172, EdgeDim: 172, LastMessage: messages.ByRole,
}

func (c Config) attention() attention.Config {
	return attention.Config{
		Node: c.NodeDim, Edge: c.EdgeDim, Time: c.TimeDim,
		Layers: c.Layers, Heads: c.Heads, Neighbors: c.Neighbors,
		Strategy: c.Strategy, Scale: c.Scale, Dropout: c.Dropout,
	}
}

func (c Config) messages() messages.Config {
	return messages.Config{
		Node: c.NodeDim, Edge: c.EdgeDim, Time: c.TimeDim, Last: c.LastMessage, ExactTimes: c.ExactTimes,
	}
}

// Check says what is wrong with c.
func (c Config) Check() error {
	if err := c.attention().Check(); err != nil {
		return err
	}
	return c.messages().Check()
}

// Brief is the settings in a few words.
func (c Config) Brief() string { return c.attention().Brief() }

// Conditions are what scores depend on beside what happened before their own time.
func (c Config) Conditions() []string { return c.attention().Conditions(c.ExactTimes) }
