package cawn

import (
	"cmp"
	"fmt"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Neighbors int     `json:"num_neighbors" about:"ways to go on from each step of a walk"`
	Length    int     `json:"walk_length" about:"steps of a walk after its first node"`
	Strategy  string  `json:"sample_neighbor_strategy" about:"recent, uniform or time_interval_aware"`
	Scale     float64 `json:"time_scaling_factor" about:"time_interval_aware: decay per unit of time"`

	Heads       int     `json:"num_walk_heads" about:"of attention among the walks"`
	PositionDim int     `json:"position_feat_dim" about:"width of the encoding of who occurs where"`
	TimeDim     int     `json:"time_feat_dim" about:"width of the time encoding"`
	Dropout     float64 `json:"dropout" about:"share left out at random in training"`
	NodeDim     int     `json:"node_feat_dim" about:"node features, narrower ones padded"`
	EdgeDim     int     `json:"edge_feat_dim" about:"event features, narrower ones padded"`

	FreezeTime bool `json:"freeze_time_encoder" about:"its frequencies are not trained"`
	ExactTimes bool `json:"exact_times" about:"how long ago from exact times, not from rounded ones"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{
	Neighbors: 32, Length: 1, Strategy: sample.TimeAware, Scale: 1e-6,
	Heads: 8, PositionDim: 172, TimeDim: 100, Dropout: 0.1, NodeDim: 172, EdgeDim: 172,
}

// maxLength is how long walks may be: their number grows with every step.
const maxLength = 7

// Check says what is wrong with c.
func (c Config) Check() error {
	err := model.CheckSizes(
		model.Size{Key: "num_neighbors", Value: c.Neighbors, Most: model.Long},
		model.Size{Key: "walk_length", Value: c.Length, Most: maxLength},
		model.Size{Key: "num_walk_heads", Value: c.Heads, Most: model.Wide},
		model.Size{Key: "position_feat_dim", Value: c.PositionDim, Most: model.Wide},
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
	switch {
	case c.walks() > model.Long:
		return fmt.Errorf("walk_length is %d, must make at most %d walks: %d neighbours on each step are more",
			c.Length, model.Long, c.Neighbors)
	case c.PositionDim < 2:
		return fmt.Errorf("position_feat_dim is %d, must be at least 2: half of it goes each way", c.PositionDim)
	}
	return cmp.Or(model.CheckTimeDim(c.TimeDim), model.CheckScale(c.Scale), model.CheckDropout(c.Dropout))
}

// Brief is the settings in a few words.
func (c Config) Brief() string {
	s := fmt.Sprintf("walks of %d, %d neighbours, %s, %d heads, dropout %v",
		c.Length, c.Neighbors, c.Strategy, c.Heads, c.Dropout)
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

// stepDim is the width of what is known of a step.
func (c Config) stepDim() int { return c.NodeDim + c.TimeDim + c.EdgeDim + c.PositionDim }

// width is that of the attention among walks: half a step's, rounded up to what the heads can share.
func (c Config) width() int { return (c.stepDim()/2 + c.Heads - 1) / c.Heads * c.Heads }

// walks is how many begin at a node, or any number above model.Long that tells there are too many.
func (c Config) walks() int {
	n := 1
	for range c.Length {
		if n *= c.Neighbors; n > model.Long {
			break
		}
	}
	return n
}
