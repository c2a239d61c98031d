package jodie

import (
	"strings"

	"github.com/dygmamba/dygmamba/model"
)

// best holds the dropout of the released program's best configurations, by lower-case name of the data set; the paper
// took them over.
var best = map[string]float64{
	"wikipedia": 0.1,
	"reddit":    0.1,
	"mooc":      0.2,
	"lastfm":    0.3,
	"enron":     0.1,
	"socialevo": 0.1,
	"uci":       0.4,

	"flights":  0.1,
	"canparl":  0,
	"uslegis":  0.2,
	"untrade":  0.4,
	"unvote":   0.1,
	"contacts": 0.1,
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
		c.Dropout = v
	}
}

// preferred is the published protocol for published data, and nothing from the same instant for anybody's own.
func preferred(d model.Data) string {
	if d.Imported {
		return "strict"
	}
	return "paper"
}
