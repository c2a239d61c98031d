package graphmixer

import (
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// tuned is what was chosen for one data set.
type tuned struct {
	neighbors int
	dropout   float64
	strategy  string
}

// best holds the best configurations of DyGLib, which the released program shares, by lower-case name of the data set.
// time_gap is 2000 for all.
var best = model.Best[tuned]{
	"wikipedia": {30, 0.5, sample.Recent},
	"reddit":    {10, 0.5, sample.Recent},
	"mooc":      {20, 0.4, sample.Recent},
	"lastfm":    {10, 0, sample.Recent},
	"enron":     {20, 0.5, sample.Recent},
	"socialevo": {20, 0.3, sample.Recent},
	"uci":       {20, 0.4, sample.Recent},

	"flights":  {20, 0.2, sample.Recent},
	"canparl":  {20, 0.2, sample.Uniform},
	"uslegis":  {20, 0.4, sample.Recent},
	"untrade":  {20, 0.1, sample.Uniform},
	"unvote":   {20, 0, sample.Uniform},
	"contacts": {20, 0.1, sample.Recent},
}

// presets differ in how long they train: the paper's sizes are those of the best configurations.
var presets = model.AsPublished((*Config).tune, "the same for as many epochs as the paper says")

// tune takes over what was chosen for a data set; one without an entry keeps the default.
func (c *Config) tune(data string) {
	if v, ok := best.For(data); ok {
		c.Neighbors, c.Dropout, c.Strategy = v.neighbors, v.dropout, v.strategy
	}
}
