// Package model holds the contract between data and maths: what a model asks for, and what it answers.
package model

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Model scores queries with differentiable parameters.
type Model interface {
	Plan() sample.Plan
	// Score gives one logit per query, [n, 1], and never changes state.
	Score(tp *grad.Tape, b *sample.Batch) *tensor.Tensor
	Params() *nn.Params // fixed order
}
