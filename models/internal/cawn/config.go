package cawn

import (
	"fmt"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/dyglib"
	"github.com/dygmamba/dygmamba/sample"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Neighbors int `json:"num_neighbors" in:"[1,1048576]" about:"walks that continue from each step"`
	Length    int `json:"walk_length" in:"[1,7]" about:"steps of a walk after its first node"`
	sample.PickerOptions

	Heads       int     `json:"num_walk_heads" in:"[1,65536]" about:"attention heads among the walks"`
	PositionDim int     `json:"position_feat_dim" in:"[1,65536]" about:"width of the encoding of positions in walks"`
	TimeDim     int     `json:"time_feat_dim" in:"[1,65536]" about:"width of the time encoding"`
	Dropout     float64 `json:"dropout" in:"[0,1)" about:"dropout rate in training"`
	NodeDim     int     `json:"node_feat_dim" in:"[1,65536]" about:"width of node features; narrower ones are padded"`
	EdgeDim     int     `json:"edge_feat_dim" in:"[1,65536]" about:"width of event features; narrower ones are padded"`

	FreezeTime bool `json:"freeze_time_encoder" about:"do not train the frequencies of the time encoding"`
	ExactTimes bool `json:"exact_times" about:"time differences from exact, not rounded, times"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{
	Neighbors: 32, Length: 1, PickerOptions: sample.PickerOptions{Strategy: sample.TimeAware, Scale: 1e-6},
	Heads: 8, PositionDim: 172, TimeDim: 100, Dropout: 0.1, NodeDim: 172, EdgeDim: 172,
}

// best holds the best configurations of DyGLib.
var best = dyglib.Best("cawn")

// presets differ in how long they train: the paper's sizes are those of the best configurations.
var presets = model.AsPublished(best, func(c *Config, v dyglib.Tuned) {
	c.Neighbors, c.Dropout = v.Neighbors, v.Dropout
})

// Check says what is wrong with c.
func (c Config) Check() error {
	if _, err := sample.NewPicker(c.PickerOptions); err != nil {
		return err
	}
	switch {
	case c.walks() > model.Long:
		return fmt.Errorf("walk_length is %d, must make at most %d walks: %d neighbours on each step are more",
			c.Length, model.Long, c.Neighbors)
	case c.PositionDim < 2:
		return fmt.Errorf("position_feat_dim is %d, must be at least 2: half of it goes each way", c.PositionDim)
	}
	return model.CheckTimeDim(c.TimeDim)
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
