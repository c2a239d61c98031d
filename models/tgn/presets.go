package tgn

import (
	"strings"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// tuned is what was chosen for one data set.
type tuned struct {
	dropout  float64
	strategy string
}

// best holds the released program's best configurations, by lower-case name of the data set; the paper took them over.
var best = map[string]tuned{
	"wikipedia": {0.1, sample.Recent},
	"reddit":    {0.1, sample.Recent},
	"mooc":      {0.2, sample.Recent},
	"lastfm":    {0.3, sample.Recent},
	"enron":     {0, sample.Recent},
	"socialevo": {0, sample.Recent},
	"uci":       {0.1, sample.Recent},

	"flights":  {0.1, sample.Recent},
	"canparl":  {0.3, sample.Uniform},
	"uslegis":  {0.1, sample.Recent},
	"untrade":  {0.2, sample.Recent},
	"unvote":   {0.1, sample.Uniform},
	"contacts": {0.1, sample.Recent},
}

const paperEpochs = 200

var presets = []model.Preset[Config]{
	{
		Name:    "released",
		Summary: "the released program and its best configurations",
		Apply:   func(data string, c *Config, t *model.Training) { c.tune(data) },
	}, {
		Name:    "paper",
		Summary: "the same, trained as long as in the paper",
		Apply:   paper,
	}, {
		Name:    "strict",
		Summary: "the paper's values, and a memory that never knows of a query's own instant",
		Apply:   paper,
	},
}

func paper(data string, c *Config, t *model.Training) {
	c.tune(data)
	t.Epochs = paperEpochs
}

// tune takes over what was chosen for a data set; one without an entry keeps the default.
func (c *Config) tune(data string) {
	if v, ok := best[strings.ToLower(data)]; ok {
		c.Dropout, c.Strategy = v.dropout, v.strategy
	}
}

// preferred is the published protocol for published data, and nothing from the same instant for anybody's own.
func preferred(d model.Data) string {
	if d.Imported {
		return "strict"
	}
	return "paper"
}
