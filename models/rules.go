package models

import (
	"fmt"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
)

// Contenders makes the forms of a model that needs no training, those that the settings (key=value) leave to choose
// from. They remember nothing yet. What they share, the size of batches and the order in which they learn of events,
// comes along.
func Contenders(name string, settings ...string) ([]eval.Contender, model.Spec, error) {
	f, err := model.Find(name)
	if err != nil || f.Trains {
		return nil, model.Spec{}, fmt.Errorf("no model %q that needs no training", name)
	}
	variants, err := f.Variants(settings...)
	if err != nil {
		return nil, model.Spec{}, err
	}
	var list []eval.Contender
	var shared model.Spec
	for _, v := range variants {
		scorer, err := f.Rule(v.Spec)
		if err != nil {
			return nil, shared, err
		}
		list, shared = append(list, eval.Contender{Name: v.Name, Scorer: scorer}), v.Spec
	}
	return list, shared, nil
}
