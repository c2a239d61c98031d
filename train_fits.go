package dygmamba

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// fits refuses, before anything is trained, to begin what has begun, to go on with other settings, to train one more
// seed beside runs of something else, and to write a summary over a file that is none.
func (o *TrainOptions) fits(proto *eval.Protocol) error {
	begun := run.Seeds(o.Dir)
	if o.Dir == "" || len(begun) == 0 {
		return o.fitsSummary()
	}
	spec, err := json.Marshal(o.Spec)
	if err != nil {
		return err
	}
	now := run.Config{Model: o.Model, Data: o.Set.Name, Spec: spec, Sampling: o.Set.Sampling, ByAP: o.ByAP,
		TF32: device.Rounds(o.Device)}
	if o.Ranks != nil {
		now.Shards = cmp.Or(o.Shards, train.DefaultShards)
	}
	now.Hashes = run.Hashes{Data: o.Set.Hash(), Split: proto.Split().Hash}
	if l := proto.Limits(); l.Any() {
		now.Limits = &l
	}
	if o.From != "" {
		now.From = new(run.From)
		if now.From.Checkpoint, err = atomicfile.Hash(o.From); err != nil {
			return err
		}
	}
	for _, seed := range begun {
		record, err := run.Open(run.SeedDir(o.Dir, seed))
		if err != nil {
			return err
		}
		if slices.Contains(o.Seeds, seed) {
			now.Seed = seed
			err = goesOn(record, now, o.Resume)
		} else if apart := record.Complete().Diff(now); apart != nil {
			err = fmt.Errorf("%s is not of the same training (%s): the runs of a directory are averaged, "+
				"choose another for this one",
				record.Dir, strings.Join(apart, ", "))
		}
		if err != nil {
			return err
		}
	}
	if _, err := run.Results(o.Dir); err != nil { // which are to be summed up
		return err
	}
	return o.fitsSummary()
}

// goesOn says why a run cannot continue as it is now asked to. One that saved nothing begins again.
func goesOn(r run.Run, now run.Config, resume bool) error {
	switch {
	case !run.Exists(filepath.Join(r.Dir, run.LastFile)):
		return nil
	case !resume:
		return run.ExistsIn(r.Dir, "training")
	}
	if err := r.Complete().Differs(now); err != nil {
		return fmt.Errorf("resume %s: %w", r.Dir, err)
	}
	return nil
}

// fitsTask refuses to train on links for a directory whose runs learned something else than labels.
func (o *TrainOptions) fitsTask() error {
	for _, seed := range run.Seeds(o.Dir) {
		record, err := run.Open(run.SeedDir(o.Dir, seed))
		if err != nil {
			return err
		}
		if task := cmp.Or(record.Task(), protocol.LinkPrediction); task != o.Task {
			return fmt.Errorf("%s is not of the same training (task %s and %s): choose another directory for this one",
				record.Dir, task, o.Task)
		}
	}
	return nil
}

// fitsSummary looks at the summary that will be replaced.
func (o *TrainOptions) fitsSummary() error {
	if o.Dir == "" {
		return nil
	}
	was, err := run.ReadSummary(o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case was.Model != o.Model || was.Data != o.Set.Name:
		return fmt.Errorf("%s is of %s on %s and would be overwritten: choose another directory for %s on %s",
			filepath.Join(o.Dir, run.ResultFile), was.Model, was.Data, o.Model, o.Set.Name)
	}
	return nil
}

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
	spec.Task, spec.Classes, spec.Alone = protocol.NodeClassification, o.Spec.Classes, o.Spec.Alone
	spec.Training = o.Spec.Training
	spec.Training.Calibrate = false // that is for links
	// the classifier's own protocol, whatever the preset says of links
	if spec.Training.Epochs > model.Standard.Epochs {
		spec.Training.Epochs = model.Standard.Epochs
	}
	o.Spec = &spec
	return done, nil
}

func (o *TrainOptions) trainBackbone(ctx context.Context) (done func(), err error) {
	first := *o
	first.Task, first.Strategies = "", nil
	links := *o.Spec
	links.Classes, links.Alone, first.Spec = nil, false, &links
	if o.MaxTime > 0 { // half of what is left; the rest is for the classifier
		first.Began, first.MaxTime = time.Now(), time.Until(o.deadline)/2
	}
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
