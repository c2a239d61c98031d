package dygmamba

import (
	"math"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// The paper's equations differ from the released program: full width 4d and no reduction of it; bare state space models
// (nn.S6) with exactly discretised B; the residual stream is not normalised, and every layer has its own norm and
// feed-forward; time codes are scaled; sequences are as long as the history, padded positions of their first patch have
// zero features, and the appended node counts as (0, meetings of the pair). Rows of a batch still have equal length, so
// patches before a history's first are held at zero, which no state space model notices, and masked in the softmax.

func (m *Model) timeScale() float32 { return float32(math.Sqrt(1 / float64(m.cfg.TimeDim))) }

// nodeLevelPaper is h ← h + SSM(h), h ← h + f_node(LayerNorm(h)).
func (m *Model) nodeLevelPaper(tp *grad.Tape, s *side, h *tensor.Tensor) *tensor.Tensor {
	for l, ssm := range m.nodes.Layers {
		h = grad.Add(tp, ssm.Forward(tp, h), h) // [rows, P, 4d]
		h = grad.Add(tp, m.nodes.Feed[l].Forward(tp, m.nodes.Norm[l].Forward(tp, h)), h)
		h = grad.Mul(tp, h, s.steps)
	}
	return h
}
