package walkmamba

import (
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/model"
)

// tuned is what is taken for one data set: ρ & p, k and dropout.
type tuned struct {
	length, patch, meetings int
	dropout                 float64
}

// sizes are those of DyGMamba's paper, but for CanParl, where walks say what histories of 2048 events were read for.
var sizes = map[string]tuned{
	"lastfm":    {512, 16, 10, 0.1},
	"enron":     {256, 8, 30, 0},
	"mooc":      {128, 4, 10, 0.1},
	"reddit":    {64, 2, 5, 0.2},
	"wikipedia": {32, 1, 5, 0.1},
	"uci":       {32, 1, 5, 0.1},
	"socialevo": {32, 1, 5, 0.1},

	"flights":  {256, 8, 30, 0.1},
	"canparl":  {256, 8, 30, 0.1},
	"uslegis":  {256, 8, 30, 0.1},
	"untrade":  {256, 8, 30, 0.1},
	"unvote":   {128, 4, 10, 0.1},
	"contacts": {32, 1, 5, 0.1},

	"s1": {256, 8, 10, 0.1},
	"s2": {512, 16, 30, 0.1},
	"s3": {512, 16, 10, 0.1},
}

var presets = []model.Preset[Config]{
	{
		Name:    "standard",
		Summary: "all that it has, in the sizes of DyGMamba's paper",
		Apply: func(data string, c *Config, t *model.Training) {
			c.tune(data)
			t.LearningRate, t.Epochs, t.Patience = 3e-4, 50, 10 // docs/MODELS.md has what was tried
		},
	}, {
		Name: "quick",
		Summary: fmt.Sprintf("for a first look: narrower, shorter, a few epochs; "+
			"on a CPU the default above %d imported events", quickAbove),
		Apply: quick,
	}, {
		Name: "when",
		Summary: "quick, for who and when: sees whether it is time again, and most negatives are the same pair at " +
			"another time",
		Apply: func(data string, c *Config, t *model.Training) { // docs/RESULTS.md has what was tried
			quick(data, c, t)
			c.Returns = true
			t.NegativesRandom, t.NegativesTime, t.SelectBy = 0.3, 0.7, model.SelectByTime
			t.Epochs, t.Patience = 40, 10
		},
	},
}

func quick(data string, c *Config, t *model.Training) {
	c.tune(data)
	c.Length, c.Channel, c.TimeDim, c.Layers, c.WalkDim = (c.Length+1)/2, 24, 32, 1, 64
	t.LearningRate, t.Epochs, t.Patience = 1e-3, 10, 3
}

// quickAbove is how many imported events are too many to wait for the whole model at a first look on a CPU.
const quickAbove = 2000

func preferred(d model.Data) string {
	if _, published := sizes[strings.ToLower(d.Name)]; d.OnCPU && d.Imported && !published && d.Events > quickAbove {
		return "quick"
	}
	return "standard"
}

// tune takes over what is known of a data set; one without an entry keeps the default.
func (c *Config) tune(data string) {
	if v, ok := sizes[strings.ToLower(data)]; ok {
		c.Length, c.Patch, c.Meetings, c.Dropout = v.length, v.patch, v.meetings, v.dropout
	}
}
