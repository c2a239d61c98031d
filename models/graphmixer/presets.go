package graphmixer

import (
	"strings"

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
var best = map[string]tuned{
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

const paperEpochs = 200

// presets differ in how long they train: the paper's sizes are those of the best configurations.
var presets = []model.Preset[Config]{
	{
		Name:    "released",
		Summary: "the released program and its best configurations",
		Apply:   func(data string, c *Config, t *model.Training) { c.tune(data) },
	}, {
		Name:    "paper",
		Summary: "the same for as many epochs as the paper says",
		Apply: func(data string, c *Config, t *model.Training) {
			c.tune(data)
			t.Epochs = paperEpochs
		},
	},
}

// preferred is how published results were made, where there are any.
func preferred(d model.Data) string {
	if _, published := best[strings.ToLower(d.Name)]; published {
		return "paper"
	}
	return "released"
}

// tune takes over what was chosen for a data set; one without an entry keeps the default.
func (c *Config) tune(data string) {
	if v, ok := best[strings.ToLower(data)]; ok {
		c.Neighbors, c.Dropout, c.Strategy = v.neighbors, v.dropout, v.strategy
	}
}
