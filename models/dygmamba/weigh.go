package dygmamba

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

var _ model.Weigher = (*Model)(nil)

// Weigh gives the logits and β, the weights that the pair's pattern and the opposite node give to the patches of a history. Variants a, c
// and d have no such weights.
func (m *Model) Weigh(tp *grad.Tape, b *sample.Batch) (logits, weights *tensor.Tensor) {
	out := m.Forward(tp, b)
	return out.Logit, out.Weights
}
