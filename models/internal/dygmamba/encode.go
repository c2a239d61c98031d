package dygmamba

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// channel is one of the four kinds of features of a position: who, through which event, when, how often. p positions at
// a time are mapped to d numbers.
type channel struct {
	project nn.Linear // [d, p·width]
	// encode maps a side's features but does not add the bias, [rows·P, d]; it is nil where there are no features.
	encode encoder
}

type encoder func(m *Model, tp *grad.Tape, s *side, w *tensor.Tensor) *tensor.Tensor

func (m *Model) declareChannels(s nn.Scope) {
	c := m.cfg
	add := func(name string, width int, encode encoder) {
		m.channels = append(m.channels, channel{nn.NewLinear(s.In(name), c.Patch*width, c.Channel), encode})
	}
	add("node", c.NodeDim, (*Model).encodeNodes)
	add("edge", c.EdgeDim, (*Model).encodeEdges)
	if c.times() {
		add("time", c.TimeDim, (*Model).encodeTimes)
	}
	if c.counts() {
		add("neighbor_co_occurrence", c.Channel, (*Model).encodeCounts)
	}
}

// encode turns the positions of a side's histories into sequences of patches, [rows, P, D]. Nothing happens between the
// channels' projections and the reduction of their concatenation, so their biases are the same in every row, and so is
// a channel without features.
func (m *Model) encode(tp *grad.Tape, s *side) *tensor.Tensor {
	if m.cfg.Arch == Paper {
		return m.encodePaper(tp, s)
	}
	var list [8]grad.Part
	parts := list[:0]
	for i, ch := range m.channels {
		lo := i * m.cfg.Channel
		if x := ch.encode(m, tp, s, ch.project.W); x != nil {
			parts = append(parts, grad.Part{X: x, Lo: lo}) // [rows·P, d]
		}
		parts = append(parts, grad.Part{X: ch.project.B, Lo: lo}) // [d]
	}
	h := grad.LinearSum(tp, m.reduce.W, m.reduce.B, device.Identity, parts...) // [rows·P, D]
	return grad.Reshape(tp, h, s.rows, s.patches, m.cfg.Width())
}

func (m *Model) encodeNodes(tp *grad.Tape, s *side, w *tensor.Tensor) *tensor.Tensor {
	return m.input.Node.Project(tp, s.nodes, w, m.cfg.NodeDim) // [rows·P, d]
}

func (m *Model) encodeEdges(tp *grad.Tape, s *side, w *tensor.Tensor) *tensor.Tensor {
	return m.input.Edge.Project(tp, s.edges, w, m.cfg.EdgeDim) // [rows·P, d]
}

// encodeTimes encodes how long ago each position was; padding is zero.
func (m *Model) encodeTimes(tp *grad.Tape, s *side, w *tensor.Tensor) *tensor.Tensor {
	code := m.timeCode(tp, s.delta, s.present)        // [rows·P·p, TimeDim]
	return sequence.Project(tp, code, w, m.cfg.Patch) // [rows·P, d]
}

// encodeCounts encodes how often each neighbour occurs in the two histories.
func (m *Model) encodeCounts(tp *grad.Tape, s *side, w *tensor.Tensor) *tensor.Tensor {
	if m.input.table == nil {
		m.input.table = m.input.Often.Table(tp, w) // [p, c, d]
	}
	return grad.Gather(tp, m.input.table, s.counts, 2*m.cfg.Patch) // [rows·P, d]
}

// timeCode is cos(w·Δ + b), which the paper's equations scale by √(1/TimeDim).
func (m *Model) timeCode(tp *grad.Tape, delta *tensor.Tensor, present device.Ints) *tensor.Tensor {
	code := m.time.Forward(tp, delta, present) // [..., TimeDim]
	if m.cfg.Arch == Paper {
		code = grad.Scale(tp, code, m.timeScale())
	}
	return code
}
