package walkmamba

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// channel is one of the kinds of features of a position: who, through which event, when, how often, how connected. p
// positions at a time are mapped to d numbers.
type channel struct {
	project nn.Linear // [d, p·width]
	// encode maps the features but does not add the bias, [2n·P, d]; it is nil where there are no features.
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
	if c.Neighbors {
		add("walk", walkProducts, (*Model).encodeWalks)
	}
	if c.Direction { // one more number of the last channel
		m.direction = nn.NewProjection(s.In("direction"), c.Patch, c.Channel)
	}
}

// encode turns the positions of histories into sequences of patches, [2n, P, D]. Nothing happens between the channels'
// projections and the reduction of their concatenation, so their biases are the same in every row.
func (m *Model) encode(tp *grad.Tape) *tensor.Tensor {
	var list [16]grad.Part
	parts := list[:0]
	for i, ch := range m.channels {
		lo := i * m.cfg.Channel
		if x := ch.encode(m, tp, ch.project.W); x != nil {
			parts = append(parts, grad.Part{X: x, Lo: lo}) // [2n·P, d]
		}
		parts = append(parts, grad.Part{X: ch.project.B, Lo: lo}) // [d]
	}
	if m.cfg.Direction {
		way := m.direction.Forward(tp, m.input.way) // [2n·P, d]
		parts = append(parts, grad.Part{X: way, Lo: (len(m.channels) - 1) * m.cfg.Channel})
	}
	h := grad.LinearSum(tp, m.reduce.W, m.reduce.B, device.Identity, parts...) // [2n·P, D]
	return grad.Reshape(tp, h, m.input.rows, m.input.patches, m.cfg.Width())
}

func (m *Model) encodeNodes(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	return m.input.Node.Project(tp, m.input.nodes, w, m.cfg.NodeDim) // [2n·P, d]
}

func (m *Model) encodeEdges(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	return m.input.Edge.Project(tp, m.input.edges, w, m.cfg.EdgeDim) // [2n·P, d]
}

// encodeTimes encodes how long ago each position was; padding is zero.
func (m *Model) encodeTimes(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	code := m.time.Forward(tp, m.input.delta, m.input.present) // [2n·P·p, TimeDim]
	return sequence.Project(tp, code, w, m.cfg.Patch)          // [2n·P, d]
}

// encodeCounts encodes how often each neighbour occurs in the two histories.
func (m *Model) encodeCounts(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	table := m.input.Often.Table(tp, w)                          // [p, c, d]
	return grad.Gather(tp, table, m.input.counts, 2*m.cfg.Patch) // [2n·P, d]
}

// encodeWalks encodes how each neighbour is connected to the two nodes of the query.
func (m *Model) encodeWalks(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	return sequence.Project(tp, m.input.products, w, m.cfg.Patch) // [2n·P, d]
}
