package ctan

import "github.com/dygmamba/dygmamba/model"

// Names of presets.
const (
	released = "released"
	paper    = "paper"
	strict   = "strict"
)

// presets are the configurations with a name. All of them have the default's sizes: the paper that compares with CTAN
// took five steps, ε = γ = 0.5 and a width of 128 for every data set, and the official program's values for the rest.
var presets = []model.Preset[Config]{
	{
		Name:    released,
		Summary: "the official program's values: it waits longer for a better epoch",
		Apply:   func(_ string, _ *Config, t *model.Training) { training(t, 50) },
	}, {
		Name:    paper,
		Summary: "the values of the paper that compares with it",
		Apply:   func(_ string, _ *Config, t *model.Training) { training(t, 20) },
	}, {
		Name:    strict,
		Summary: "paper, but what happens at an instant is remembered for later ones only",
		Apply:   func(_ string, _ *Config, t *model.Training) { training(t, 20) },
	},
}

func training(t *model.Training, patience int) {
	t.Epochs, t.Patience, t.WeightDecay = 1000, patience, 1e-6
}

// preferred is the order of published results for published data, and the one that lets nothing of an instant leak
// for others.
func preferred(d model.Data) string {
	if d.Imported {
		return strict
	}
	return paper
}
