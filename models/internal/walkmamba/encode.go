package walkmamba

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

func (m *Model) declareChannels(s nn.Scope) {
	c, in := m.cfg, &m.input.Tables
	project := func(name string, width int) nn.Linear { return nn.NewLinear(s.In(name), c.Patch*width, c.Channel) }
	m.channels = []sequence.Channel{
		in.NodeChannel(project("node", c.NodeDim), c.NodeDim),
		in.EdgeChannel(project("edge", c.EdgeDim), c.EdgeDim),
		sequence.TimeChannel(project("time", c.TimeDim), c.Patch, m.time.Forward),
		in.CountChannel(project("neighbor_co_occurrence", c.Channel), c.Patch),
	}
	if c.Neighbors {
		m.channels = append(m.channels, sequence.Channel{Project: project("walk", walkProducts), Encode: m.encodeWalks})
	}
	if c.Direction { // one more number of the last channel
		m.direction = nn.NewProjection(s.In("direction"), c.Patch, c.Channel)
	}
}

// encode turns the positions of histories into sequences of patches, [2n, P, D].
func (m *Model) encode(tp *grad.Tape) *tensor.Tensor {
	var list [16]grad.Part
	parts := sequence.Parts(tp, m.channels, &m.input.Positions, list[:0])
	if m.cfg.Direction {
		way := m.direction.Forward(tp, m.input.way) // [2n·P, d]
		parts = append(parts, grad.Part{X: way, Lo: (len(m.channels) - 1) * m.cfg.Channel})
	}
	h := grad.LinearSum(tp, m.reduce.W, m.reduce.B, device.Identity, parts...) // [2n·P, D]
	return grad.Reshape(tp, h, m.input.Rows, m.input.Patches, m.cfg.Width())
}

// encodeWalks encodes how each neighbour is connected to the two nodes of the query.
func (m *Model) encodeWalks(tp *grad.Tape, _ *sequence.Positions, w *tensor.Tensor) *tensor.Tensor {
	return sequence.Project(tp, m.input.products, w, m.cfg.Patch) // [2n·P, d]
}
