// Package dyglib answers: which configuration is best for a model on a data set? They are those of DyGLib (Yu et al.,
// Towards Better Dynamic Graph Learning, NeurIPS 2023), which the released program of DyGMamba shares and its paper
// took over.
package dyglib

import (
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
)

// Tuned is what was chosen for a model on a data set. A model takes over what is tuned of it.
type Tuned struct {
	Dropout   float64
	Strategy  string // of sample.PickerOptions
	Neighbors int    // 0: the same for all data sets
}

var models = []string{"jodie", "dyrep", "tgat", "tgn", "cawn", "tcl", "graphmixer"}

// row is what was chosen for a data set.
type row struct {
	dropout      [7]float64 // in the order of models
	walks, mixed int        // neighbours of CAWN and of GraphMixer
	uniform      string     // models that draw neighbours evenly; others take recent ones, CAWN draws them by time
}

// best is by lower-case name of the data set.
var best = map[string]row{
	"wikipedia": {[7]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.5}, 32, 30, ""},
	"reddit":    {[7]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.5}, 32, 10, "tgat tcl"},
	"mooc":      {[7]float64{0.2, 0.0, 0.1, 0.2, 0.1, 0.1, 0.4}, 64, 20, ""},
	"lastfm":    {[7]float64{0.3, 0.0, 0.1, 0.3, 0.1, 0.1, 0.0}, 128, 10, ""},
	"enron":     {[7]float64{0.1, 0.0, 0.2, 0.0, 0.1, 0.1, 0.5}, 32, 20, ""},
	"socialevo": {[7]float64{0.1, 0.1, 0.1, 0.0, 0.1, 0.0, 0.3}, 64, 20, ""},
	"uci":       {[7]float64{0.4, 0.0, 0.1, 0.1, 0.1, 0.0, 0.4}, 64, 20, ""},
	"flights":   {[7]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2}, 64, 20, ""},
	"canparl":   {[7]float64{0.0, 0.0, 0.2, 0.3, 0.0, 0.2, 0.2}, 128, 20, "dyrep tgat tgn tcl graphmixer"},
	"uslegis":   {[7]float64{0.2, 0.0, 0.1, 0.1, 0.1, 0.3, 0.4}, 32, 20, "tcl"},
	"untrade":   {[7]float64{0.4, 0.1, 0.1, 0.2, 0.1, 0.0, 0.1}, 64, 20, "tgat tcl graphmixer"},
	"unvote":    {[7]float64{0.1, 0.1, 0.2, 0.1, 0.1, 0.0, 0.0}, 64, 20, "tgn tcl graphmixer"},
	"contacts":  {[7]float64{0.1, 0.0, 0.1, 0.1, 0.1, 0.0, 0.1}, 64, 20, ""},
}

// Best are the configurations of a model.
func Best(name string) model.Best[Tuned] {
	list := model.Best[Tuned]{}
	for data, r := range best {
		t := Tuned{Dropout: r.dropout[slices.Index(models, name)], Strategy: sample.Recent}
		if slices.Contains(strings.Fields(r.uniform), name) {
			t.Strategy = sample.Uniform
		}
		switch name {
		case "cawn":
			t.Neighbors, t.Strategy = r.walks, sample.TimeAware
		case "graphmixer":
			t.Neighbors = r.mixed
		}
		list[data] = t
	}
	return list
}
