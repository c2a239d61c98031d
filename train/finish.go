package train

import (
	"context"
	"fmt"
	"time"

	"github.com/dygmamba/dygmamba/calibration"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// finish evaluates the best epoch on the test sets.
func (t *trainer) finish(ctx context.Context) (run.Result, error) {
	best, err := t.bestEpoch(ctx)
	if err != nil {
		return run.Result{}, fmt.Errorf("best epoch: %w", err)
	}
	if !t.fresh {
		if err := Restore(t.Learner.Model, t.Classifier(), best); err != nil {
			return run.Result{}, fmt.Errorf("best epoch: %w", err)
		}
	}
	r := t.standing()
	if r.Checkpoint, err = t.dir.Hash(run.CheckpointFile); err != nil {
		return run.Result{}, fmt.Errorf("best epoch: %w", err)
	}
	if t.Refit != nil {
		return t.finishFit(r)
	}
	if t.Chooser() != nil {
		net := t.net()
		defer net.Close()
		m, err := t.testNext(ctx, net)
		if err != nil {
			return run.Result{}, err
		}
		r.Task, r.Next, r.Results = protocol.Next, m.OrNil(), []run.Measured{}
		return r, t.dir.WriteJSON(run.ResultFile, r)
	}
	own := eval.Contender{Scorer: t.evaluator(), Warm: func(*eval.Protocol) bool { return true }}
	if own.Calibration, err = calibration.Parse(best.Meta[run.CalibrationKey]); err != nil {
		return run.Result{}, fmt.Errorf("best epoch: %w", err)
	}
	proto, err := t.tested(ctx)
	if err != nil {
		return run.Result{}, err
	}
	session, err := proto.Session(ctx, own)
	if err != nil {
		return run.Result{}, err
	}
	tests := eval.Tests{Strategies: t.strategies()}
	if !t.Deadline.IsZero() {
		tests.Until = later(t.Deadline, time.Now().Add(time.Second))
	}
	rows, err := session.Test(ctx, tests)
	if err != nil {
		return run.Result{}, err
	}
	switch r.Results = run.Measurements(rows); {
	case t.Protocol.Task().OfEvents():
		r.Task = t.Protocol.Task()
	case t.Spec.Training.ByKind():
		r.Task = protocol.ByKind
	}
	return r, t.dir.WriteJSON(run.ResultFile, r)
}

// bestEpoch is its checkpoint, without tensors where the model has them.
func (t *trainer) bestEpoch(ctx context.Context) (checkpoint.File, error) {
	switch {
	case t.fresh:
		return t.best, nil
	case t.filed:
		return t.fileOfRoot(ctx, run.CheckpointFile)
	case t.Dir != "":
		return checkpoint.Load(t.dir.Path(run.CheckpointFile))
	}
	return t.best, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// standing is what is known without a look at the test.
func (t *trainer) standing() run.Result {
	r := run.Result{
		Model: t.Run.Model, Data: t.Set.Name, Seed: t.Seed, Preset: t.Spec.Preset,
		Params: t.Learner.Model.Params().Count(),
		Epochs: t.at.Epoch, BestEpoch: t.at.Stopper.Epoch, TrainEvents: t.at.Epoch*t.events() + t.done(),
		Peak: t.peak(), Device: t.Device.Name(),
		Split: t.Protocol.Split().Hash, History: t.epochs, Order: t.Spec.Order, Depends: t.Spec.Conditions(),
		Paused: !t.at.Finished, Ended: t.ended, Sampled: t.Protocol.SampledTrain(),
	}
	for _, e := range t.epochs {
		r.Seconds += e.Seconds.Train + e.Seconds.Evaluate
		r.PerEpoch += e.Seconds.Train / float64(len(t.epochs))
	}
	if b := t.at.Stopper.Epoch; b > 0 && b <= len(t.epochs) {
		e := t.epochs[b-1]
		r.ChosenBy = t.at.Stopper.Measure(t.Spec.Training)
		r.Val, r.Others, r.NextVal = e.Val, e.Others, e.Next
	}
	return r
}
