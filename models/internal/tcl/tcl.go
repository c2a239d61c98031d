// Package tcl is TCL: Transformer-based dynamic graph modelling via contrastive learning (Wang et al., 2021), as DyGLib
// trains it, with the loss of all its models.
//
// Each of a query's two nodes becomes a sequence: itself, then its latest neighbours. In every layer a sequence attends
// to itself and then to the other one, with the same weights; what has become of the node itself is its embedding.
package tcl

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds TCL.
var Factory = model.Make(model.Kind[Config]{
	Title:   "TCL",
	Summary: "Transformers within and across the two nodes' sequences (TCL)",
	Default: Default, Presets: presets, Prefer: best.Prefer, Shapes: fromTensors,
	Imported: func(c *Config) { c.ExactTimes = true },
	Lighter:  "fewer num_neighbors, fewer num_layers or a smaller node_feat_dim",
	Declare:  declare,
})

// Model is TCL on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	cfg    Config
	picker sample.Picker
	input  input

	time     nn.TimeEncoder
	depth    *tensor.Tensor // [len, NodeDim]: what a position is, 0 the node itself
	fromNode nn.Linear
	fromEdge nn.Linear
	fromTime nn.Linear
	layers   []*nn.Transformer
	output   nn.Linear
}

// declare names the parameters as the released program's checkpoints do, in their order.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	m.depth = nn.NewEmbedding(s.In("depth_embedding"), c.rowLen(), c.NodeDim)
	m.fromNode = nn.NewLinear(s.In("projection_layer.node"), c.NodeDim, c.NodeDim)
	m.fromEdge = nn.NewLinear(s.In("projection_layer.edge"), c.EdgeDim, c.NodeDim)
	m.fromTime = nn.NewLinear(s.In("projection_layer.time"), c.TimeDim, c.NodeDim)
	for l := range c.Layers {
		in := s.In("transformers").In(fmt.Sprint(l))
		m.layers = append(m.layers, nn.NewTransformer(in, c.NodeDim, c.Heads, device.ReLU, float32(c.Dropout)))
	}
	m.output = nn.NewLinear(s.In("output_layer"), c.NodeDim, c.NodeDim)
	m.MergeHead(2*c.NodeDim, c.NodeDim)
	m.FreezeTime(c.FreezeTime)
	return m
}

// Open makes the picker and uploads features.
func (m *Model) Open(env model.Env) (err error) {
	if m.picker, err = sample.NewPicker(m.cfg.PickerOptions); err != nil {
		return err
	}
	return m.OpenFeatures(env, m.cfg.NodeDim, m.cfg.EdgeDim)
}

// Plan asks for the two sequences.
func (m *Model) Plan() sample.Plan {
	draw := sample.Draw{Neighbors: m.cfg.Neighbors, RowLen: m.cfg.rowLen(), Target: sample.TargetFirst}
	return m.WithTimeline(sample.Plan{Draws: sample.Both(draw), Picker: m.picker, ExactTimes: m.cfg.ExactTimes})
}

// Embed describes each of the queries' nodes as the other one sees it.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	e, _ := m.forward(tp, b, false)
	return e
}

// forward computes a batch and, if asked to, how much the nodes attend to their own sequences in the last layer,
// [2n, 1, len].
func (m *Model) forward(tp *grad.Tape, b *sample.Batch, weigh bool) (e model.Embedding, weights *tensor.Tensor) {
	in := &m.input
	in.load(m, tp, b)
	h := m.encode(tp) // [2n, len, d]
	for l, layer := range m.layers {
		last := l == len(m.layers)-1
		if last && weigh {
			weights = layer.Attention.Weights(tp, m.targets(tp, h), h, in.mask)
		}
		h = layer.PostNorm(tp, h, h, in.mask)
		query := h
		if last { // nothing else is looked at any more
			query = m.targets(tp, h) // [2n, 1, d]
		}
		h = layer.PostNorm(tp, query, opposite(tp, h), in.otherMask)
	}
	z := m.output.Forward(tp, grad.Reshape(tp, h, in.rows, m.cfg.NodeDim)) // [2n, d]
	src, dst := grad.Split(tp, z, len(b.Queries))                          // [n, d] each
	return model.Embedding{Src: src, Dst: dst}, weights
}

// encode adds up who, through which event, how long ago and at which place: [2n, len, d]. Padding is encoded too;
// nobody attends to it.
func (m *Model) encode(tp *grad.Tape) *tensor.Tensor {
	in, d := &m.input, m.cfg.NodeDim
	h := m.fromTime.Forward(tp, m.time.Forward(tp, in.delta, device.Ints{})) // [2n·len, d]
	if x := m.Node.Project(tp, in.nodes, m.fromNode.W, d); x != nil {
		h = grad.Add(tp, h, x)
	}
	if x := m.Edge.Project(tp, in.edges, m.fromEdge.W, m.cfg.EdgeDim); x != nil {
		h = grad.Add(tp, h, x)
	}
	place := grad.Add(tp, grad.Add(tp, m.depth, m.fromNode.B), m.fromEdge.B) // [len, d]
	each := m.cfg.rowLen() * d
	h = grad.Add(tp, grad.Reshape(tp, h, in.rows, each), grad.Reshape(tp, place, each))
	return grad.Reshape(tp, h, in.rows, m.cfg.rowLen(), d)
}

// targets keeps the first position of every sequence, the node itself: [2n, len, d] → [2n, 1, d].
func (m *Model) targets(tp *grad.Tape, h *tensor.Tensor) *tensor.Tensor {
	rows, d := h.Dim(0), h.Dim(2)
	first := grad.Gather(tp, grad.Reshape(tp, h, h.Rows(), d), m.input.first, 1) // [2n, d]
	return grad.Reshape(tp, first, rows, 1, d)
}

// opposite is the other node's sequence: [2n, len, d] with halves exchanged.
func opposite(tp *grad.Tape, h *tensor.Tensor) *tensor.Tensor {
	src, dst := grad.Split(tp, h, h.Dim(0)/2)
	return grad.Stack(tp, dst, src)
}
