package dygmamba

import (
	"context"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// EvaluateOptions says what to measure. LoadOptions.Set is needed; the zero value of the rest is the published
// protocol.
type EvaluateOptions struct {
	LoadOptions
	Scenarios  []protocol.Scenario  // nil: both
	Strategies []protocol.Negatives // nil: protocol.Published()
	Protocol   eval.Options         // Sampling, BatchSize, Order and Threads are the model's own unless given here
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
	session, err := p.Evaluation(ctx, o.Protocol)
	if err != nil {
		return nil, err
	}
	rows, err := session.Test(ctx, eval.Tests{Scenarios: o.Scenarios, Strategies: o.Strategies})
	var results []run.Measured
	for _, r := range rows {
		if r.Batches > 0 {
			results = append(results, run.Measured{Scenario: r.Scenario, Strategy: r.Strategy, Result: r.Result})
		}
	}
	return results, err
}
