package predict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// FineTuning says from which events a model goes on learning.
type FineTuning struct {
	From, To int    // numbers of the events, in the order in which they came
	Seed     uint64 // of negatives and dropout
	Rest     float64
	// Rest is how long to pause after each step, as a multiple of the time that the step took: others need the
	// processor too.
}

// FineTune goes on training the predictor's model on events that it knows, once through, each against a destination
// drawn at random. The predictor answers with the new weights from then on. If ctx ends it has learned of a part.
func (p *Predictor) FineTune(ctx context.Context, o FineTuning) error {
	if p.spec.Task.OfEvents() {
		return fmt.Errorf("fine-tune: %s was trained on the task %s, want a model of links", p.name, p.spec.Task)
	}
	pass, err := p.replayFrom(ctx, o.From, o.To, o.Seed)
	if err != nil {
		return fmt.Errorf("fine-tune: %w", err)
	}
	var l *train.Learner
	guarded := tensor.Guard(func() { l, err = train.LearnerOf(p.model, p.spec, o.Seed) })
	if err := errors.Join(guarded, err); err != nil {
		return fmt.Errorf("fine-tune: %w", err)
	}
	defer l.Release()
	var planner replay.Planner = p.model
	if m, ok := p.scorer.Scorer().(model.StatefulScorer); ok && p.spec.Order == protocol.Strict {
		planner = m
	}
	number := uint64(0)
	for step, err := range pass.Batches(ctx, planner, p.log.Span(o.From, o.To)) {
		if err != nil {
			return fmt.Errorf("fine-tune: %w", err)
		}
		began := time.Now()
		if err := tensor.Guard(func() { l.Step(step.Batch, grad.Key(o.Seed, number)) }); err != nil {
			return fmt.Errorf("fine-tune: step %d: %w", number, err)
		}
		number++
		if o.Rest > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(o.Rest * float64(time.Since(began)))):
			}
		}
	}
	return nil
}

// AveragePrecision is how well the model tells events that it knows from others with a destination drawn at random,
// each asked before the model learns of it, as in an evaluation. Listeners are told the answers.
func (p *Predictor) AveragePrecision(
	ctx context.Context, from, to int, seed uint64, listeners ...func(eval.Answers),
) (float64, error) {
	pass, err := p.replayFrom(ctx, from, to, seed)
	if err != nil {
		return 0, fmt.Errorf("measure: %w", err)
	}
	window := p.log.Select(func(i int) bool { return i >= from && i < to })
	r, err := eval.Run(ctx, p.scorer.Scorer(), pass, window, listeners...)
	return r.AP, err
}

// Recalibrate fits the map behind Probability to the answers that AveragePrecision measures, which should be about
// events that the model was not trained on. It says whether it did: a model without a map stays without one, and where
// there are too few answers the map stays as it is.
func (p *Predictor) Recalibrate(ctx context.Context, from, to int, seed uint64) (bool, error) {
	if p.calibration == nil {
		return false, nil
	}
	var said answers
	if _, err := p.AveragePrecision(ctx, from, to, seed, said.listen); err != nil {
		return false, err
	}
	m := said.Fit()
	if m != nil {
		p.calibration = m
	}
	return m != nil, nil
}

// replayFrom is a pass over events, of which a memory knows those before.
func (p *Predictor) replayFrom(ctx context.Context, from, to int, seed uint64) (replay.Pass, error) {
	if p.log == nil || from < 0 || from >= to || to > p.log.Len() {
		return replay.Pass{}, fmt.Errorf("events %d to %d, which are not there", from, to)
	}
	negatives, err := sample.NewNegatives(p.log, sample.NegativeOptions{Sampling: protocol.Native, Seed: seed})
	if err != nil {
		return replay.Pass{}, err
	}
	pass := replay.Pass{Past: p.view(), Negatives: negatives, BatchSize: p.spec.Training.BatchSize,
		Sampling: p.sampling(), Seed: 1,
		Threads: p.options.Threads, Order: p.spec.Order}
	if p.stream == nil {
		return pass, nil
	}
	if err := p.stream.take(); err != nil {
		return pass, err
	}
	p.stream.lose()
	if err := p.stream.memory.Restore(nil); err != nil {
		return pass, err
	}
	return pass, pass.Remember(ctx, p.stream.memory, p.log.Span(0, from))
}

// Checkpoint is the model as it is, with its map of probabilities. What it remembers is left out: that is learned from
// the events.
func (p *Predictor) Checkpoint() (checkpoint.File, error) {
	spec, err := json.Marshal(p.spec)
	if err != nil {
		return checkpoint.File{}, err
	}
	f := checkpoint.File{Meta: map[string]string{"model": p.name, "spec": string(spec),
		run.SamplingKey: string(p.sampling())}}
	if p.options.Set != nil {
		f.Meta[run.DataKey] = p.options.Set.Name
	}
	if p.calibration != nil {
		f.Meta[run.CalibrationKey] = p.calibration.String()
	}
	err = tensor.Guard(func() {
		f.AddParams(p.model.Params())
		if p.classifier != nil {
			f.AddParams(p.classifier.Params())
		}
	})
	return f, err
}
