package sequence

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Positions are those of histories on the device, rows of P patches of p positions each.
type Positions struct {
	Rows    int
	Patches int            // P, of each
	Nodes   device.Ints    // [rows·P·p]: rows of the table of features
	Edges   device.Ints    // [rows·P·p]
	Delta   *tensor.Tensor // [rows·P·p]: how long ago
	Present device.Ints    // [rows·P·p]: 0 at padding
	Counts  device.Ints    // [rows·P, 2p]: rows of the table of encoded counts
}

// Load uploads rows of the same length, those of a before those of b.
func (t *Tables) Load(tp *grad.Tape, a, b *sample.Rows, patch int) Positions {
	p := Positions{Rows: (len(a.Node) + len(b.Node)) / max(1, a.Len), Patches: a.Len / patch}
	t.floats = append(append(t.floats[:0], a.Delta...), b.Delta...)
	p.Delta = tp.Floats(t.floats, len(t.floats))
	t.ids = append(append(t.ids[:0], a.Node...), b.Node...)
	p.Present = tp.Ints(t.ids)
	p.Nodes, p.Edges = t.Node.Load(tp, a.Described(), b.Described()), t.Edge.Load(tp, a.Edge, b.Edge)
	t.ids = append(append(t.ids[:0], a.Count...), b.Count...)
	p.Counts = t.Often.Load(tp, t.ids, patch)
	return p
}

// Channel is one of the kinds of features of a position: who, through which event, when, how often. p positions at a
// time are mapped to d numbers.
type Channel struct {
	Project nn.Linear // [d, p·width]
	// Encode maps features but does not add the bias, [rows·P, d]; it is nil where there are no features.
	Encode func(tp *grad.Tape, p *Positions, w *tensor.Tensor) *tensor.Tensor
}

// NodeChannel looks up features of nodes.
func (t *Tables) NodeChannel(project nn.Linear, width int) Channel {
	return Channel{project, func(tp *grad.Tape, p *Positions, w *tensor.Tensor) *tensor.Tensor {
		return t.Node.Project(tp, p.Nodes, w, width)
	}}
}

// EdgeChannel looks up features of events.
func (t *Tables) EdgeChannel(project nn.Linear, width int) Channel {
	return Channel{project, func(tp *grad.Tape, p *Positions, w *tensor.Tensor) *tensor.Tensor {
		return t.Edge.Project(tp, p.Edges, w, width)
	}}
}

// TimeChannel encodes how long ago each position was; padding is zero.
func TimeChannel(project nn.Linear, patch int,
	code func(tp *grad.Tape, delta *tensor.Tensor, present device.Ints) *tensor.Tensor) Channel {
	return Channel{project, func(tp *grad.Tape, p *Positions, w *tensor.Tensor) *tensor.Tensor {
		return Project(tp, code(tp, p.Delta, p.Present), w, patch) // of [rows·P·p, TimeDim]
	}}
}

// CountChannel encodes how often each neighbour occurs in the two histories.
func (t *Tables) CountChannel(project nn.Linear, patch int) Channel {
	return Channel{project, func(tp *grad.Tape, p *Positions, w *tensor.Tensor) *tensor.Tensor {
		return grad.Gather(tp, t.Often.Table(tp, w), p.Counts, 2*patch) // of [p, c, d]
	}}
}

// Parts are what channels say of positions, and their biases, as parts of what a layer reduces. Nothing happens between
// the projections and the reduction of their concatenation, so biases are the same in every row, and so is a channel
// without features.
func Parts(tp *grad.Tape, channels []Channel, p *Positions, parts []grad.Part) []grad.Part {
	for i, ch := range channels {
		lo := i * ch.Project.B.Len()
		if x := ch.Encode(tp, p, ch.Project.W); x != nil {
			parts = append(parts, grad.Part{X: x, Lo: lo}) // [rows·P, d]
		}
		parts = append(parts, grad.Part{X: ch.Project.B, Lo: lo}) // [d]
	}
	return parts
}

// SideBySide puts what channels say of positions side by side, [rows, P, 4d]; one without features repeats its bias.
func SideBySide(tp *grad.Tape, channels []Channel, p *Positions) *tensor.Tensor {
	var list [4]*tensor.Tensor
	for i, ch := range channels {
		x := ch.Encode(tp, p, ch.Project.W) // [rows·P, d]
		if x == nil {
			x = tp.Zeros(p.Rows*p.Patches, ch.Project.B.Len())
		}
		list[i] = grad.Add(tp, x, ch.Project.B)
	}
	h := grad.Concat(tp, list[:]...) // [rows·P, 4d]
	return grad.Reshape(tp, h, p.Rows, p.Patches, h.Cols())
}
