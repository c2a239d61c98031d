package dygmamba

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// startingPoint is the checkpoint that training begins with, "" for random weights.
func (o *TrainOptions) startingPoint() (string, error) {
	if o.From == "" {
		return "", nil
	}
	if o.Task == protocol.NodeClassification {
		return "", errors.New("a classifier of labels cannot begin with the weights of a run: its model is Backbone")
	}
	choice, err := run.Best(o.From)
	if err != nil {
		return "", fmt.Errorf("the run to begin with: %w", err)
	}
	return choice.File, nil
}

// ChosenDir is where a training with FitAll keeps the one that chose the epoch, below its own directory.
const ChosenDir = "chosen"

// fitAll trains as usual, then once more on all events, for as many epochs as validation chose.
func (o TrainOptions) fitAll(ctx context.Context, f model.Factory) (run.Summary, error) {
	switch {
	case o.Dir == "":
		return run.Summary{}, errors.New("fit to all events: a directory is needed to keep both trainings in")
	case o.MaxTime > 0:
		return run.Summary{}, errors.New("fit to all events: there can be no time limit, as the chosen epoch says " +
			"how long it takes")
	case o.Task != "" && o.Task != protocol.LinkPrediction:
		return run.Summary{}, fmt.Errorf("fit to all events: the task is %s, want %s", o.Task, protocol.LinkPrediction)
	}
	if err := o.fitsSummary(); err != nil {
		return run.Summary{}, err
	}
	first := o
	first.FitAll, first.Dir, first.Resume = false, filepath.Join(o.Dir, ChosenDir), true
	if _, err := Train(ctx, first); err != nil {
		return run.Summary{}, err
	}
	all, err := o.everything(ctx)
	if err != nil {
		return run.Summary{}, err
	}
	if o.Log != nil {
		o.Log.Info("now the same training on all events, for the number of epochs that validation chose")
	}
	var runs []run.Result
	for _, seed := range o.Seeds {
		job, err := o.refit(f, all, seed)
		var r run.Result
		if err == nil {
			r, err = job.Train(ctx)
		}
		if err != nil {
			run.WriteSummary(o.Dir) // those that are over; the error is this one
			return run.Summarize(runs), fmt.Errorf("seed %d, all events: %w", seed, err)
		}
		runs = append(runs, r)
	}
	return run.Summarize(runs), run.WriteSummary(o.Dir)
}

// everything is the protocol of a training on all events.
func (o *TrainOptions) everything(ctx context.Context) (*eval.Protocol, error) {
	return await.Do(ctx, func() (*eval.Protocol, error) {
		p := o.options()
		usual, err := eval.Open(o.Set, p)
		if err != nil {
			return nil, err
		}
		p.Sampling = o.Set.Sampling
		return eval.NewProtocol(usual.Split().Everything(), p), nil
	})
}

// refit is the run of a seed on all events.
func (o TrainOptions) refit(f model.Factory, all *eval.Protocol, seed uint64) (*train.Run, error) {
	dir := run.SeedDir(filepath.Join(o.Dir, ChosenDir), seed)
	chosen, err := run.ReadResult(dir)
	if err != nil {
		return nil, err
	}
	if o.ByAP, err = o.choosesByAP(); err != nil {
		return nil, err
	}
	if o.From, err = o.startingPoint(); err != nil {
		return nil, err
	}
	spec := *o.Spec
	o.TestEvery = 0
	spec.Training.Epochs, spec.Training.Patience = chosen.BestEpoch, chosen.BestEpoch
	job := o.run(f, spec, all, seed)
	log := all.Split().Full
	job.Refit = &train.Fit{Chosen: chosen, Dir: dir, Fit: run.Fit{To: run.FitAll, Events: log.Len(),
		Last: log.At(log.Len() - 1).Time, Epochs: chosen.BestEpoch, Checkpoint: chosen.Checkpoint}}
	return job, nil
}
