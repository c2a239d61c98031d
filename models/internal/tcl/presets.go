package tcl

import (
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// tuned is what was chosen for one data set.
type tuned struct {
	dropout  float64
	strategy string
}

// best holds the best configurations of DyGLib, which the released program shares, by lower-case name of the data set.
// All have 20 neighbours.
var best = model.Best[tuned]{
	"wikipedia": {0.1, sample.Recent},
	"reddit":    {0.1, sample.Uniform},
	"mooc":      {0.1, sample.Recent},
	"lastfm":    {0.1, sample.Recent},
	"enron":     {0.1, sample.Recent},
	"socialevo": {0, sample.Recent},
	"uci":       {0, sample.Recent},

	"flights":  {0.1, sample.Recent},
	"canparl":  {0.2, sample.Uniform},
	"uslegis":  {0.3, sample.Uniform},
	"untrade":  {0, sample.Uniform},
	"unvote":   {0, sample.Uniform},
	"contacts": {0, sample.Recent},
}

// presets differ in how long they train: the paper's sizes are those of the best configurations.
var presets = model.AsPublished((*Config).tune, "the same for as many epochs as the paper says")

// tune takes over what was chosen for a data set; one without an entry keeps the default.
func (c *Config) tune(data string) {
	if v, ok := best.For(data); ok {
		c.Dropout, c.Strategy = v.dropout, v.strategy
	}
}
