package graphmixer

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/dyglib"
	"github.com/dygmamba/dygmamba/sample"
)

// What time_gap means. The paper averages the node features of those met within a span of time; the released program
// takes it for a number of neighbours, and divides their mean by that number once more.
const (
	Count = "count"
	Span  = "span"
)

// Config says everything about the model but its weights. Its JSON names are the ones --set takes, and about says what
// they are.
type Config struct {
	Neighbors int `json:"num_neighbors" in:"[1,1048576]" about:"K: latest events of a node"`
	sample.PickerOptions

	TimeGap     float64 `json:"time_gap" about:"T: neighbours whose node features are averaged"`
	TimeGapMode string  `json:"time_gap_mode" about:"count: the last T; span: those less than T before the query"`
	TimeGapMost int     `json:"time_gap_neighbors" in:"[1,1048576]" about:"maximum number of neighbours in the span"`

	Layers  int     `json:"num_layers" in:"[1,100]" about:"number of mixer layers"`
	TimeDim int     `json:"time_feat_dim" in:"[1,65536]" about:"width of the time encoding"`
	Dropout float64 `json:"dropout" in:"[0,1)" about:"dropout rate in training"`
	NodeDim int     `json:"node_feat_dim" in:"[1,65536]" about:"width of node features; narrower ones are padded"`
	EdgeDim int     `json:"edge_feat_dim" in:"[1,65536]" about:"width of event features; narrower ones are padded"`

	ExactTimes bool `json:"exact_times" about:"time differences from exact, not rounded, times"`
}

// Default is the released program's configuration for a data set it has no better one for.
var Default = Config{
	Neighbors: 20, PickerOptions: sample.PickerOptions{Strategy: sample.Recent, Scale: 1e-6},
	TimeGap: 2000, TimeGapMode: Count, TimeGapMost: 2000,
	Layers: 2, TimeDim: 100, Dropout: 0.1, NodeDim: 172, EdgeDim: 172,
}

// best holds the best configurations of DyGLib.
var best = dyglib.Best("graphmixer")

// presets differ in how long they train: the paper's sizes are those of the best configurations.
var presets = model.AsPublished(best, func(c *Config, v dyglib.Tuned) {
	c.Neighbors, c.Dropout, c.Strategy = v.Neighbors, v.Dropout, v.Strategy
})

// Check says what is wrong with c.
func (c Config) Check() error {
	if _, err := sample.NewPicker(c.PickerOptions); err != nil {
		return err
	}
	if c.Neighbors < 2 {
		return fmt.Errorf("num_neighbors is %d, must be at least 2: tokens are mixed through half as many", c.Neighbors)
	}
	return cmp.Or(model.CheckTimeDim(c.TimeDim), c.checkGap())
}

func (c Config) checkGap() error {
	switch whole := c.TimeGap == math.Trunc(c.TimeGap); {
	case c.TimeGapMode != Count && c.TimeGapMode != Span:
		return fmt.Errorf("time_gap_mode is %q, must be %q or %q", c.TimeGapMode, Count, Span)
	case c.TimeGapMode == Count && !(whole && c.TimeGap >= 1 && c.TimeGap <= model.Long):
		return fmt.Errorf("time_gap is %v, must be a whole number of neighbours, at least 1 and at most %d; "+
			"time_gap_mode=%s takes it for a span of time", c.TimeGap, model.Long, Span)
	case !(c.TimeGap > 0) || math.IsInf(c.TimeGap, 1):
		return fmt.Errorf("time_gap is %v, must be a span of time above 0", c.TimeGap)
	}
	return nil
}

// Brief is the settings in a few words.
func (c Config) Brief() string {
	s := fmt.Sprintf("%d neighbours, %s, %d mixers, dropout %v", c.Neighbors, c.Strategy, c.Layers, c.Dropout)
	if c.TimeGapMode == Span {
		s += fmt.Sprintf(", node features of the last %v", c.TimeGap)
	}
	return s
}

// gapRow is the number of neighbours that are drawn for their node features.
func (c Config) gapRow() int {
	if c.TimeGapMode == Span {
		return c.TimeGapMost
	}
	return int(c.TimeGap)
}
