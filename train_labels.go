package dygmamba

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// prepareBackbone sees to it that there is a model that was trained on links, and takes over its configuration: what is
// classified is what that model says. Done, if not nil, cleans up.
func (o *TrainOptions) prepareBackbone(ctx context.Context) (done func(), err error) {
	if o.Backbone == "" {
		if done, err = o.trainBackbone(ctx); err != nil {
			return done, fmt.Errorf("train the model to classify with: %w", err)
		}
	}
	record, err := run.Open(run.SeedDir(o.Backbone, o.Seeds[0]))
	if err != nil {
		return done, fmt.Errorf("the model to classify with: %w", err)
	}
	if record.Config.Model != o.Model {
		return done, fmt.Errorf("the model to classify with, %s, is of %s, asked for is %s",
			record.Dir, record.Config.Model, o.Model)
	}
	spec, err := record.Spec()
	if err != nil {
		return done, err
	}
	spec.Task, spec.Training = protocol.NodeClassification, o.Spec.Training
	spec.Training.Calibrate = false // that is for links
	// the classifier's own protocol, whatever the preset says of links
	if spec.Training.Epochs > model.Standard.Epochs {
		spec.Training.Epochs = model.Standard.Epochs
	}
	o.Spec = &spec
	return done, nil
}

// trainBackbone trains on links first.
func (o *TrainOptions) trainBackbone(ctx context.Context) (done func(), err error) {
	first := *o
	first.Task, first.Strategies = "", nil
	first.MaxTime = o.MaxTime / 2
	o.MaxTime -= first.MaxTime
	if o.Dir != "" {
		first.Dir = filepath.Join(o.Dir, "link")
		first.Resume = true // also where it is there already
	} else {
		if first.Dir, err = os.MkdirTemp("", "dygmamba-link-*"); err != nil {
			return nil, err
		}
		done = func() { os.RemoveAll(first.Dir) }
	}
	if o.Log != nil {
		o.Log.Info("first the model itself is trained on links, then a classifier on what it says")
	}
	o.Backbone = first.Dir
	_, err = Train(ctx, first)
	return done, err
}
