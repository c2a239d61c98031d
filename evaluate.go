package dygmamba

import (
	"context"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// EvaluateOptions says what to measure. LoadOptions.Set is needed; the zero value of the rest is the published
// protocol.
type EvaluateOptions struct {
	LoadOptions
	Scenarios  []string     // eval.Transductive and eval.Inductive; nil: both
	Strategies []string     // negatives: sample.Random, sample.Historical and sample.Inductive; nil: all three
	Protocol   eval.Options // Sampling "" is the set's own, BatchSize 0 that of the checkpoint
}

// Evaluate measures a trained model on the last part of a data set, in every scenario under every kind of negatives.
// Path is what Load takes. Scenarios without events are left out of the results.
func Evaluate(ctx context.Context, path string, o EvaluateOptions) ([]run.Measured, error) {
	o.Past = nil // the protocol decides what may be seen
	p, err := predict.Load(path, o.LoadOptions)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if o.Protocol.BatchSize == 0 {
		o.Protocol.BatchSize = p.Spec().Training.BatchSize
	}
	if o.Protocol.Threads == 0 {
		o.Protocol.Threads = o.Threads
	}
	if o.Protocol.Order == "" {
		o.Protocol.Order = p.Spec().Order
	}
	if o.Protocol.Task = p.Spec().Task; p.Spec().Task == eval.NodeClassification {
		o.Scenarios, o.Strategies = []string{eval.Transductive}, []string{""}
	}
	if o.Scenarios == nil {
		o.Scenarios = eval.Scenarios()
	}
	if o.Strategies == nil {
		o.Strategies = eval.Strategies()
	}
	protocol, err := eval.Open(o.Set, o.Protocol)
	if err != nil {
		return nil, err
	}
	if p.Cold() {
		if err := protocol.WarmUp(ctx, []eval.Contender{{Scorer: p.Scorer()}}); err != nil {
			return nil, err
		}
	}
	protocol = protocol.With(func(o *eval.Options) { o.Calibration = p.Calibration() })
	return train.Measure(ctx, protocol, p.Scorer(), o.Scenarios, o.Strategies)
}
