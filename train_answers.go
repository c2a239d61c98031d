package dygmamba

import (
	"fmt"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
)

// nameClasses puts the classes of the labels into the configuration, where these are learned.
func (o *TrainOptions) nameClasses() error {
	if o.Task != protocol.NodeClassification {
		return nil
	}
	if f, err := model.Find(o.Model); err == nil && f.Remembers && o.Set.NodeLabels != nil {
		return fmt.Errorf("%s has a memory, which learns of events as they are asked about: labels of nodes with "+
			"times of their own are for models without, such as %s", o.Model, DefaultModel)
	}
	classes, err := o.Set.LabelClasses()
	if err != nil {
		return err
	}
	spec := *o.Spec
	spec.Classes, spec.Alone, o.Spec = classes.Names, o.Set.NodeLabels != nil, &spec
	return nil
}

// takeTarget puts the value that is learned into the configuration: its mean and deviation in the training part.
func (o *TrainOptions) takeTarget(p *eval.Protocol) (*eval.Protocol, error) {
	if o.Spec.Training.ByKind() {
		return nil, fmt.Errorf("the task %s asks about events of any kind: ask_kind must be off", o.Task)
	}
	target, err := eval.NewTarget(o.Set, p.Whole().Train.All())
	if err != nil {
		return nil, err
	}
	spec := *o.Spec
	spec.Task, spec.Target = protocol.Regression, target
	spec.Training.Calibrate = false // that is for links
	o.Spec, o.Strategies = &spec, nil
	return p.With(func(e *eval.Options) { e.Target = target }), nil
}
