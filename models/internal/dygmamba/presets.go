package dygmamba

import (
	"strings"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
)

// releasedTuned holds the best configurations in the released program, by lower-case name of the data set.
var releasedTuned = model.Best[sequence.Tuned]{
	"lastfm":    {Length: 128, Patch: 4, Meetings: 10, Dropout: 0.1},
	"enron":     {Length: 256, Patch: 1, Meetings: 30, Dropout: 0},
	"mooc":      {Length: 256, Patch: 1, Meetings: 10, Dropout: 0.1},
	"reddit":    {Length: 64, Patch: 1, Meetings: 5, Dropout: 0.2},
	"wikipedia": {Length: 32, Patch: 1, Meetings: 5, Dropout: 0.1},
	"uci":       {Length: 32, Patch: 1, Meetings: 5, Dropout: 0.1},
	"socialevo": {Length: 32, Patch: 1, Meetings: 5, Dropout: 0.1},
}

// presets are the configurations with a name. The paper's table of model sizes fits none of its text: four of its
// entries are those of paper-size-a, two those of paper-size-b.
var presets = []model.Preset[Config]{
	{
		Name:    "released",
		Summary: "the released program and its best configurations",
		Apply:   func(data string, c *Config, t *model.Training) { c.tune(releasedTuned.For(data)) },
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
		Name:    "quick",
		Summary: sequence.QuickSummary,
		Apply: func(data string, c *Config, t *model.Training) {
			c.tune(sequence.Paper(data))
			c.FreezeTime = true
			c.Length, c.Channel, c.TimeDim, c.Layers = (c.Length+1)/2, 24, 32, 1
			t.LearningRate, t.Epochs, t.Patience = 1e-3, 10, 3
		},
	},
}

// preferred is what did best on validation data (docs/RESULTS.md).
func preferred(d model.Data) string {
	switch strings.ToLower(d.Name) {
	case "enron":
		return "paper"
	case "canparl":
		return "steady-equations"
	}
	if sequence.Quick(d) {
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
	c.tune(sequence.Paper(data))
	t.Epochs = model.PaperEpochs
}

func (c *Config) tune(v sequence.Tuned, chosen bool) { sequence.Tune(&c.Reach, &c.Sizes, v, chosen) }
