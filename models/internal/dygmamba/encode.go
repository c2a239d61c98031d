package dygmamba

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
	}
	if c.times() {
		m.channels = append(m.channels, sequence.TimeChannel(project("time", c.TimeDim), c.Patch, m.timeCode))
	}
	if c.counts() {
		m.channels = append(m.channels, in.CountChannel(project("neighbor_co_occurrence", c.Channel), c.Patch))
	}
}

// encode turns the positions of a side's histories into sequences of patches, [rows, P, D].
func (m *Model) encode(tp *grad.Tape, s *side) *tensor.Tensor {
	if m.cfg.Arch == Paper { // [rows, P, 4d]
		return grad.Mul(tp, sequence.SideBySide(tp, m.channels, &s.Positions), s.steps)
	}
	var list [8]grad.Part
	parts := sequence.Parts(tp, m.channels, &s.Positions, list[:0])
	h := grad.LinearSum(tp, m.reduce.W, m.reduce.B, device.Identity, parts...) // [rows·P, D]
	return grad.Reshape(tp, h, s.Rows, s.Patches, m.cfg.Width())
}

// timeCode is cos(w·Δ + b), which the paper's equations scale by √(1/TimeDim).
func (m *Model) timeCode(tp *grad.Tape, delta *tensor.Tensor, present device.Ints) *tensor.Tensor {
	code := m.time.Forward(tp, delta, present) // [..., TimeDim]
	if m.cfg.Arch == Paper {
		code = grad.Scale(tp, code, m.timeScale())
	}
	return code
}
