package tcl

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

var _ model.Weigher = (*Model)(nil)

// Weigh tells how much each node attends to the positions of its own sequence in the last layer, the mean over heads.
func (m *Model) Weigh(tp *grad.Tape, b *sample.Batch) (model.Embedding, []*tensor.Tensor) {
	e, weights := m.forward(tp, b, true)
	flat := grad.Reshape(tp, weights, m.input.rows, m.cfg.rowLen()) // [2n, len]
	src, dst := grad.Split(tp, flat, len(b.Queries))                // [n, len] each
	return e, []*tensor.Tensor{src, dst}
}
