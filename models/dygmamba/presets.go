package dygmamba

import (
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/model"
)

// tuned is what was chosen for one data set: ρ & p, k and dropout.
type tuned struct {
	length, patch, meetings int
	dropout                 float64
}

// releasedTuned holds the best configurations in the released program, by lower-case name of the data set.
var releasedTuned = map[string]tuned{
	"lastfm":    {128, 4, 10, 0.1},
	"enron":     {256, 1, 30, 0},
	"mooc":      {256, 1, 10, 0.1},
	"reddit":    {64, 1, 5, 0.2},
	"wikipedia": {32, 1, 5, 0.1},
	"uci":       {32, 1, 5, 0.1},
	"socialevo": {32, 1, 5, 0.1},
}

// paperTuned holds the paper's: continuous-time sets and synthetic ones from the tables of its implementation details,
// discrete-time ones from its appendix, which does not give their dropout.
var paperTuned = map[string]tuned{
	"lastfm":    {512, 16, 10, 0.1},
	"enron":     {256, 8, 30, 0},
	"mooc":      {128, 4, 10, 0.1},
	"reddit":    {64, 2, 5, 0.2},
	"wikipedia": {32, 1, 5, 0.1},
	"uci":       {32, 1, 5, 0.1},
	"socialevo": {32, 1, 5, 0.1},

	"flights":  {256, 8, 30, 0.1},
	"canparl":  {2048, 64, 100, 0.1},
	"uslegis":  {256, 8, 30, 0.1},
	"untrade":  {256, 8, 30, 0.1},
	"unvote":   {128, 4, 10, 0.1},
	"contacts": {32, 1, 5, 0.1},

	"s1": {256, 8, 10, 0.1},
	"s2": {512, 16, 30, 0.1},
	"s3": {512, 16, 10, 0.1},
}

const paperEpochs = 200

// presets are the configurations with a name. The paper's table of model sizes fits none of its text: four of its
// entries are those of paper-size-a, two those of paper-size-b.
var presets = []model.Preset[Config]{
	{
		Name:    "released",
		Summary: "the released program and its best configurations",
		Apply:   func(data string, c *Config, t *model.Training) { c.tune(releasedTuned, data) },
	}, {
		Name:    "paper",
		Summary: "the released program with the paper's ρ & p, k and dropout",
		Apply:   paper,
	}, {
		Name:    "paper-size-a",
		Summary: "paper with γ = 1: the sizes printed for LastFM, Enron, MOOC and UCI",
		Apply: func(data string, c *Config, t *model.Training) {
			paper(data, c, t)
			c.Gamma = 1
		},
	}, {
		Name:    "paper-size-b",
		Summary: "paper at full width 4d: the sizes printed for Reddit and Social Evo.",
		Apply: func(data string, c *Config, t *model.Training) {
			paper(data, c, t)
			c.Divisor = 1
		},
	}, {
		Name:    "paper-equations",
		Summary: "the paper's equations to the letter, which produced no published number",
		Apply: func(data string, c *Config, t *model.Training) {
			paper(data, c, t)
			c.Arch = Paper
		},
	}, {
		Name:    "steady",
		Summary: "paper with the time encoder's frequencies fixed: learns sooner and, but for enron, better",
		Apply: func(data string, c *Config, t *model.Training) {
			paper(data, c, t)
			c.FreezeTime = true
		},
	}, {
		Name:    "steady-equations",
		Summary: "paper-equations with the frequencies fixed: the only ones that learn CanParl",
		Apply: func(data string, c *Config, t *model.Training) {
			paper(data, c, t)
			c.Arch, c.FreezeTime = Paper, true
		},
	}, {
		Name: "quick",
		Summary: fmt.Sprintf("for a first look: narrower, shorter, a few epochs; "+
			"on a CPU the default above %d imported events", QuickAbove),
		Apply: func(data string, c *Config, t *model.Training) {
			c.tune(paperTuned, data)
			c.FreezeTime = true
			c.Length, c.Channel, c.TimeDim, c.Layers = (c.Length+1)/2, 24, 32, 1
			t.LearningRate, t.Epochs, t.Patience = 1e-3, 10, 3
		},
	},
}

// QuickAbove is how many imported events are too many to wait for the whole model at a first look on a CPU.
const QuickAbove = 2000

// preferred is what did best on validation data (docs/RESULTS.md).
func preferred(d model.Data) string {
	switch strings.ToLower(d.Name) {
	case "enron":
		return "paper"
	case "canparl":
		return "steady-equations"
	}
	if _, published := paperTuned[strings.ToLower(d.Name)]; d.OnCPU && d.Imported && !published && d.Events > QuickAbove {
		return "quick"
	}
	return "steady"
}

// ofVariant are the presets of a variant, and which it prefers: the equations exist for the whole model only.
func ofVariant(variant string) (list []model.Preset[Config], prefer func(model.Data) string) {
	if variant == "" {
		return presets, preferred
	}
	for _, p := range presets {
		if !strings.HasSuffix(p.Name, "-equations") {
			list = append(list, p)
		}
	}
	return list, func(d model.Data) string { return strings.TrimSuffix(preferred(d), "-equations") }
}

func paper(data string, c *Config, t *model.Training) {
	c.tune(paperTuned, data)
	t.Epochs = paperEpochs
}

// tune takes over what was chosen for a data set; one without an entry keeps the default.
func (c *Config) tune(table map[string]tuned, data string) {
	if v, ok := table[strings.ToLower(data)]; ok {
		c.Length, c.Patch, c.Meetings, c.Dropout = v.length, v.patch, v.meetings, v.dropout
	}
}
