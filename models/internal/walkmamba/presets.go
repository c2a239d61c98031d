package walkmamba

import (
	"strings"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/protocol"
)

// sizes are those of DyGMamba's paper, but for CanParl, where walks say what histories of 2048 events were read for.
func sizes(data string) (sequence.Tuned, bool) {
	if strings.EqualFold(data, "canparl") {
		return sequence.Tuned{Length: 256, Patch: 8, Meetings: 30, Dropout: 0.1}, true
	}
	return sequence.Paper(data)
}

var presets = []model.Preset[Config]{
	{
		Name:    "standard",
		Summary: "all that it has, in the sizes of DyGMamba's paper",
		Apply: func(data string, c *Config, t *model.Training) {
			c.tune(data)
			c.NextItem = true
			t.LearningRate, t.Epochs, t.Patience = 3e-4, 50, 10 // docs/MODELS.md has what was tried
		},
	}, {
		Name:    "quick",
		Summary: sequence.QuickSummary,
		Apply:   quick,
	}, {
		Name: when,
		Summary: "quick, for who and when: sees whether it is time again, and most negatives are the same pair at " +
			"another time",
		Apply: func(data string, c *Config, t *model.Training) { // docs/RESULTS.md has what was tried
			quick(data, c, t)
			c.Periodicity = true
			t.Negatives = protocol.Shares{protocol.RandomNegatives: 0.3, protocol.TimeNegatives: 0.7}
			t.SelectBy = string(protocol.TimeNegatives)
			t.Epochs, t.Patience = 40, 10
		},
	},
}

// when is the name of the preset that learns when, not only who.
const when = "when"

func quick(data string, c *Config, t *model.Training) {
	c.tune(data)
	c.Length, c.Channel, c.TimeDim, c.Layers, c.WalkDim = (c.Length+1)/2, 24, 32, 1, 64
	c.NextItem = true
	t.LearningRate, t.Epochs, t.Patience = 1e-3, 10, 3
}

func preferred(d model.Data) string {
	if sequence.Quick(d) {
		return "quick"
	}
	return "standard"
}

func (c *Config) tune(data string) {
	v, known := sizes(data)
	sequence.Tune(&c.Reach, &c.Sizes, v, known)
}

// Walk states get a budget on all data that are not published, as these may grow when they are served, and on published
// ones that are large. Vectors of very many nodes are narrower.
const (
	memory   = 2 << 10 // MiB
	large    = 2_000_000
	leastDim = 16
)

// bound chooses the budget of walk states, and vectors of which it has room for half of the nodes.
func bound(c *Config, data model.Data) {
	if !data.Imported && data.Events <= large {
		return
	}
	c.Memory = memory
	for c.WalkDim >= 2*leastDim && data.Nodes > 2*c.options(model.Env{}).MostNodes() {
		c.WalkDim /= 2
	}
}
