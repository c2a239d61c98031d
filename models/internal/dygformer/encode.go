package dygformer

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// channel is one of the four kinds of features of a position: who, through which event, when, how often. p positions at
// a time are mapped to d numbers.
type channel struct {
	project nn.Linear // [d, p·width]
	// encode maps the features but does not add the bias, [n·P, d]; it is nil where all of them are zero.
	encode func(m *Model, tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor
}

func (m *Model) declareChannels(s nn.Scope) {
	c := m.cfg
	add := func(name string, width int, encode func(*Model, *grad.Tape, *tensor.Tensor) *tensor.Tensor) {
		m.channels = append(m.channels, channel{nn.NewLinear(s.In(name), c.Patch*width, c.Channel), encode})
	}
	add("node", c.NodeDim, (*Model).encodeNodes)
	add("edge", c.EdgeDim, (*Model).encodeEdges)
	add("time", c.TimeDim, (*Model).encodeTimes)
	add("neighbor_co_occurrence", c.Channel, (*Model).encodeCounts)
}

// encode turns the positions of both nodes' histories into one sequence of patches, [n, P, 4d].
func (m *Model) encode(tp *grad.Tape) *tensor.Tensor {
	n, steps := m.input.queries, m.input.steps
	var parts [4]*tensor.Tensor
	for i, ch := range m.channels {
		x := ch.encode(m, tp, ch.project.W) // [n·P, d]
		if x == nil {
			x = tp.Zeros(n*steps, m.cfg.Channel)
		}
		parts[i] = grad.Add(tp, x, ch.project.B)
	}
	h := grad.Concat(tp, parts[:]...)                   // [n·P, 4d]
	return grad.Reshape(tp, h, n, steps, m.cfg.Width()) // [n, P, 4d]
}

func (m *Model) encodeNodes(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	return m.input.Node.Project(tp, m.input.nodes, w, m.cfg.NodeDim) // [n·P, d]
}

func (m *Model) encodeEdges(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	return m.input.Edge.Project(tp, m.input.edges, w, m.cfg.EdgeDim) // [n·P, d]
}

// encodeTimes encodes how long ago each position was; padding is zero.
func (m *Model) encodeTimes(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	code := m.time.Forward(tp, m.input.delta, m.input.present) // [n·P·p, TimeDim]
	return sequence.Project(tp, code, w, m.cfg.Patch)          // [n·P, d]
}

// encodeCounts encodes how often each neighbour occurs in the two histories.
func (m *Model) encodeCounts(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	table := m.input.Often.Table(tp, w)                          // [p, L+1, d]
	return grad.Gather(tp, table, m.input.counts, 2*m.cfg.Patch) // [n·P, d]
}
