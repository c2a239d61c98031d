package dygformer

import (
	"maps"

	"github.com/dygmamba/dygmamba/model"
)

// tuned is what was chosen for one data set: L & p and dropout.
type tuned struct {
	length, patch int
	dropout       float64
}

// paperTuned holds the published configurations, by lower-case name of the data set: those of DyGFormer's own paper,
// and for the synthetic sets those of DyGMamba's.
var paperTuned = model.Best[tuned]{
	"wikipedia": {32, 1, 0.1},
	"reddit":    {64, 2, 0.2},
	"mooc":      {256, 8, 0.1},
	"lastfm":    {512, 16, 0.1},
	"enron":     {256, 8, 0},
	"socialevo": {32, 1, 0.1},
	"uci":       {32, 1, 0.1},

	"flights":  {256, 8, 0.1},
	"canparl":  {2048, 64, 0.1},
	"uslegis":  {256, 8, 0},
	"untrade":  {256, 8, 0},
	"unvote":   {128, 4, 0.2},
	"contacts": {32, 1, 0},

	"s1": {64, 2, 0.1},
	"s2": {512, 16, 0.1},
	"s3": {32, 1, 0.1},
}

// releasedTuned holds those of the program that was released with DyGMamba. Two patch sizes are not the published ones.
var releasedTuned = func() model.Best[tuned] {
	m := maps.Clone(paperTuned)
	m["mooc"], m["enron"] = tuned{256, 4, 0.1}, tuned{256, 4, 0}
	return m
}()

// presets are the configurations with a name.
var presets = []model.Preset[Config]{
	{
		Name:    "released",
		Summary: "the released program and its best configurations",
		Apply:   func(data string, c *Config, t *model.Training) { c.tune(releasedTuned, data) },
	}, {
		Name:    "paper",
		Summary: "the published L & p and dropout",
		Apply: func(data string, c *Config, t *model.Training) {
			c.tune(paperTuned, data)
			t.Epochs = model.PaperEpochs
		},
	},
}

// preferred is the published configuration where there is one.
func preferred(d model.Data) string {
	if _, ok := paperTuned.For(d.Name); ok && !d.Imported {
		return "paper"
	}
	return "released"
}

// tune takes over what was chosen for a data set; one without an entry keeps the default. The paper gives variant G no
// equations: with norms validation data prefer it, on uci a little and on enron by far.
func (c *Config) tune(table model.Best[tuned], data string) {
	if v, ok := table.For(data); ok {
		c.Length, c.Patch, c.Dropout = v.length, v.patch, v.dropout
	}
	c.FeedForward = c.Layer == Mamba
}
