package cawn

import (
	"github.com/dygmamba/dygmamba/model"
)

// tuned is what was chosen for one data set.
type tuned struct {
	neighbors int
	dropout   float64
}

// best holds the best configurations of DyGLib, which the released program shares, by lower-case name of the data set.
// All walk one step and pick by time.
var best = model.Best[tuned]{
	"wikipedia": {32, 0.1},
	"reddit":    {32, 0.1},
	"mooc":      {64, 0.1},
	"lastfm":    {128, 0.1},
	"enron":     {32, 0.1},
	"socialevo": {64, 0.1},
	"uci":       {64, 0.1},

	"flights":  {64, 0.1},
	"canparl":  {128, 0},
	"uslegis":  {32, 0.1},
	"untrade":  {64, 0.1},
	"unvote":   {64, 0.1},
	"contacts": {64, 0.1},
}

// presets differ in how long they train: the paper's sizes are those of the best configurations.
var presets = model.AsPublished((*Config).tune, "the same for as many epochs as the paper says")

// tune takes over what was chosen for a data set; one without an entry keeps the default.
func (c *Config) tune(data string) {
	if v, ok := best.For(data); ok {
		c.Neighbors, c.Dropout = v.neighbors, v.dropout
	}
}
