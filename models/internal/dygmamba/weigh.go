package dygmamba

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

var _ model.Weigher = (*Model)(nil)

// Weigh gives β, the weights that the pair's pattern and the opposite node give to the patches of a history. Variants
// a, c and d have no such weights.
func (m *Model) Weigh(tp *grad.Tape, b *sample.Batch) (model.Embedding, []*tensor.Tensor) {
	e, weights := m.forward(tp, b)
	e.Kind = m.KindsAsked(tp, b)
	if len(weights) != 1 {
		return e, weights
	}
	src, dst := grad.Split(tp, weights[0], len(b.Queries)) // [n, P] each
	return e, []*tensor.Tensor{src, dst}
}
