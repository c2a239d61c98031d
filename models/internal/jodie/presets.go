package jodie

import (
	"github.com/dygmamba/dygmamba/model"
)

// best holds the dropout of the released program's best configurations, by lower-case name of the data set; the paper
// took them over.
var best = model.Best[float64]{
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

// tune takes over what was chosen for a data set; one without an entry keeps the default.
func (c *Config) tune(data string) {
	if v, ok := best.For(data); ok {
		c.Dropout = v
	}
}
