package cawn

import (
	"strings"

	"github.com/dygmamba/dygmamba/model"
)

// tuned is what was chosen for one data set.
type tuned struct {
	neighbors int
	dropout   float64
}

// best holds the best configurations of DyGLib, which the released program shares, by lower-case name of the data set.
// All walk one step and pick by time.
var best = map[string]tuned{
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
		c.Neighbors, c.Dropout = v.neighbors, v.dropout
	}
}
