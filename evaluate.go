package dygmamba

import (
	"context"
	"slices"

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
	return slices.DeleteFunc(run.Measurements(rows), func(m run.Measured) bool { return m.Batches == 0 }), err
}

// LoadOptions says what a trained model may look at and where it computes. Only Set is needed for a checkpoint that
// Train made.
type LoadOptions = predict.Options

// Predictor answers questions with a trained model: Score, Rank, Explain, Embed and more.
type Predictor = predict.Predictor

// Query asks whether Src and Dst interact at Time.
type Query = predict.Query

// Load opens a trained model. Path is a run directory that Train filled, one of its checkpoints, a safetensors file
// with the tensor names of the released program, or the PyTorch file that this one wrote. The caller closes the
// predictor, before the set and the device.
func Load(path string, o LoadOptions) (*Predictor, error) { return predict.Load(path, o) }
