package dygmamba

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// channel is one of the four kinds of features of a position: who, through which event, when, how often. p positions at a time are
// mapped to d numbers.
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
	if c.times() {
		add("time", c.TimeDim, (*Model).encodeTimes)
	}
	if c.counts() {
		add("neighbor_co_occurrence", c.Channel, (*Model).encodeCounts)
	}
}

// encode turns the positions of both nodes' histories into sequences of patches, [2n, P, D]. Nothing happens between the channels'
// projections and the reduction of their concatenation, so their biases are the same in every row, and so is a channel without features.
func (m *Model) encode(tp *grad.Tape) *tensor.Tensor {
	if m.cfg.Arch == Paper {
		return m.encodePaper(tp)
	}
	var list [8]grad.Part
	parts := list[:0]
	for i, ch := range m.channels {
		lo := i * m.cfg.Channel
		if x := ch.encode(m, tp, ch.project.W); x != nil {
			parts = append(parts, grad.Part{X: x, Lo: lo}) // [2n·P, d]
		}
		parts = append(parts, grad.Part{X: ch.project.B, Lo: lo}) // [d]
	}
	h := grad.LinearSum(tp, m.reduce.W, m.reduce.B, device.Identity, parts...) // [2n·P, D]
	return grad.Reshape(tp, h, m.input.rows, m.cfg.Patches(), m.cfg.Width())
}

func (m *Model) encodeNodes(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	return m.encodeFeatures(tp, w, &m.input.node, m.cfg.NodeDim)
}

func (m *Model) encodeEdges(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	return m.encodeFeatures(tp, w, &m.input.edge, m.cfg.EdgeDim)
}

// encodeFeatures looks rows of a feature table up. The table may be narrower than the model expects: columns of the weight that would
// meet zeros are left out.
func (m *Model) encodeFeatures(tp *grad.Tape, w *tensor.Tensor, f *featureInput, width int) *tensor.Tensor {
	if f.table == nil {
		return nil
	}
	x := grad.Gather(tp, f.table, f.rows, 1)                          // [2n·RowLen, cols]
	w = narrow(tp, w, width, f.table.Cols())                          // [d, p·cols]
	return grad.Linear(tp, m.patches(tp, x), w, nil, device.Identity) // [2n·P, d]
}

// encodeTimes encodes how long ago each position was; padding is zero.
func (m *Model) encodeTimes(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	code := m.timeCode(tp, m.input.delta, m.input.present)               // [2n·RowLen, TimeDim]
	return grad.Linear(tp, m.patches(tp, code), w, nil, device.Identity) // [2n·P, d]
}

// encodeCounts encodes how often each neighbour occurs in the two histories. Counts are small whole numbers: each is encoded and
// projected once, for every place in a patch, and positions add up the rows they need.
func (m *Model) encodeCounts(tp *grad.Tape, w *tensor.Tensor) *tensor.Tensor {
	hidden := m.frequency[0].Act(tp, m.input.numbers, device.ReLU) // [RowLen+1, d]
	code := m.frequency[1].Forward(tp, hidden)                     // [RowLen+1, d]
	table := grad.LinearParts(tp, code, w)                         // [p, RowLen+1, d]
	return grad.Gather(tp, table, m.input.counts, 2*m.cfg.Patch)   // [2n·P, d]
}

// timeCode is cos(w·Δ + b), which the paper's equations scale by √(1/TimeDim).
func (m *Model) timeCode(tp *grad.Tape, delta *tensor.Tensor, present device.Ints) *tensor.Tensor {
	code := m.time.Forward(tp, delta, present) // [..., TimeDim]
	if m.cfg.Arch == Paper {
		code = grad.Scale(tp, code, m.timeScale())
	}
	return code
}

// patches joins p positions each: [2n·RowLen, c] → [2n·P, p·c].
func (m *Model) patches(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	return grad.Reshape(tp, x, x.Dim(0)/m.cfg.Patch, m.cfg.Patch*x.Cols())
}

// narrow keeps, in each of the p blocks of width columns of w, the first cols: w [d, p·width] → [d, p·cols].
func narrow(tp *grad.Tape, w *tensor.Tensor, width, cols int) *tensor.Tensor {
	if cols == width {
		return w
	}
	p := w.Cols() / width
	y := tp.Result([]int{w.Rows(), p * cols}, w)
	for s := range p {
		tp.Device().Copy(y.Mat().Columns(s*cols, (s+1)*cols), w.Mat().Columns(s*width, s*width+cols))
	}
	if y.Tracked {
		grad.Record(tp, narrowed{w, y, width, cols})
	}
	return y
}

type narrowed struct {
	w, y        *tensor.Tensor
	width, cols int
}

// Backward adds each block to its place.
func (o *narrowed) Backward(tp *grad.Tape) {
	g := tp.Take(o.y)
	if g.Len == 0 {
		return
	}
	dy, dw := g.Mat(o.y.Rows(), o.y.Cols()), tp.Accum(o.w)
	for s := range o.w.Cols() / o.width {
		to := dw.Columns(s*o.width, s*o.width+o.cols)
		tp.Device().Zip(device.Add, to, to, dy.Columns(s*o.cols, (s+1)*o.cols))
	}
	tp.Recycle(g)
}
