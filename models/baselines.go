package models

import (
	"slices"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/edgebank"
)

// Baseline is a model without learned weights: all it knows is what it remembers.
type Baseline struct {
	Summary  string // in a line
	Settings any    // a struct of its settings, with their defaults

	// Variants makes the forms that are measured against each other, those that the settings (key=value) leave to
	// choose from. They remember nothing yet. Settings of the structs in others are put there.
	Variants func(settings []string, others ...any) ([]eval.Contender, error)
}

// Baselines is their catalogue, by the names the command line takes.
var Baselines = map[string]Baseline{
	"edgebank": {Summary: edgebank.Summary, Settings: edgebank.Default, Variants: banks},
}

func banks(settings []string, others ...any) ([]eval.Contender, error) {
	var asked edgebank.Config
	if err := model.Apply(settings, append([]any{&asked}, others...)...); err != nil {
		return nil, err
	}
	if _, err := edgebank.New(asked); err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(edgebank.Variants(), func(c edgebank.Config) bool {
		return asked.Memory != "" && c.Memory != asked.Memory ||
			asked.Window != "" && c.Memory == edgebank.TimeWindow && c.Window != asked.Window
	})
	var list []eval.Contender
	for _, c := range chosen {
		bank, err := edgebank.New(c)
		if err != nil {
			return nil, err
		}
		list = append(list, eval.Contender{Name: c.String(), Scorer: bank})
	}
	return list, nil
}
