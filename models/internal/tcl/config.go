package tcl

import (
	"fmt"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/dyglib"
	"github.com/dygmamba/dygmamba/sample"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Neighbors int `json:"num_neighbors" in:"[1,1048576]" about:"latest events of a node"`
	sample.PickerOptions

	Layers  int     `json:"num_layers" in:"[1,100]" about:"number of layers, each within and across sequences"`
	Heads   int     `json:"num_heads" in:"[1,65536]" about:"number of attention heads"`
	TimeDim int     `json:"time_feat_dim" in:"[1,65536]" about:"width of the time encoding"`
	Dropout float64 `json:"dropout" in:"[0,1)" about:"dropout rate in training"`
	NodeDim int     `json:"node_feat_dim" in:"[1,65536]" about:"width of node features and layers"`
	EdgeDim int     `json:"edge_feat_dim" in:"[1,65536]" about:"width of event features; narrower ones are padded"`

	FreezeTime bool `json:"freeze_time_encoder" about:"do not train the frequencies of the time encoding"`
	ExactTimes bool `json:"exact_times" about:"time differences from exact, not rounded, times"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{
	Neighbors: 20, PickerOptions: sample.PickerOptions{Strategy: sample.Recent, Scale: 1e-6},
	Layers: 2, Heads: 2, TimeDim: 100, Dropout: 0.1, NodeDim: 172, EdgeDim: 172,
}

// best holds the best configurations of DyGLib.
var best = dyglib.Best("tcl")

// presets differ in how long they train: the paper's sizes are those of the best configurations.
var presets = model.AsPublished(best, func(c *Config, v dyglib.Tuned) {
	c.Dropout, c.Strategy = v.Dropout, v.Strategy
})

// Check says what is wrong with c.
func (c Config) Check() error {
	if _, err := sample.NewPicker(c.PickerOptions); err != nil {
		return err
	}
	if c.NodeDim%c.Heads != 0 {
		return fmt.Errorf("num_heads is %d, must divide node_feat_dim = %d", c.Heads, c.NodeDim)
	}
	return model.CheckTimeDim(c.TimeDim)
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

// rowLen is the length of a sequence: the node itself, then its neighbours.
func (c Config) rowLen() int { return c.Neighbors + 1 }
