package dyrep

import (
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// tuned is what was chosen for one data set.
type tuned struct {
	dropout  float64
	strategy string
}

// best holds the released program's best configurations, by lower-case name of the data set; the paper took them over.
var best = model.Best[tuned]{
	"wikipedia": {0.1, sample.Recent},
	"reddit":    {0.1, sample.Recent},
	"mooc":      {0, sample.Recent},
	"lastfm":    {0, sample.Recent},
	"enron":     {0, sample.Recent},
	"socialevo": {0.1, sample.Recent},
	"uci":       {0, sample.Recent},

	"flights":  {0.1, sample.Recent},
	"canparl":  {0, sample.Uniform},
	"uslegis":  {0, sample.Recent},
	"untrade":  {0.1, sample.Recent},
	"unvote":   {0.1, sample.Recent},
	"contacts": {0, sample.Recent},
}

// tune takes over what was chosen for a data set; one without an entry keeps the default.
func (c *Config) tune(data string) {
	if v, ok := best.For(data); ok {
		c.Dropout, c.Strategy = v.dropout, v.strategy
	}
}
