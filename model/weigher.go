package model

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Weigher is a model that can tell what it paid attention to.
type Weigher interface {
	Model
	// Weigh gives the logits of Score, [n, 1], and how much each patch of each history counts, [2n, patches], sources first. A patch is
	// as many consecutive positions of a row as make patches of all of them; the weights of a row add up to 1. Weights are nil if this
	// form of the model has none.
	Weigh(tp *grad.Tape, b *sample.Batch) (logits, weights *tensor.Tensor)
}
