// Package tgat is TGAT: temporal graph attention (Xu et al., Inductive Representation Learning on Temporal Graphs, ICLR
// 2020).
//
// A node is described by attention to those that it met and to the times since, and these in turn by attention to those
// that they had met by then. Nothing is remembered but the events.
package tgat

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/attention"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds TGAT.
var Factory = model.Make(model.Kind[Config]{
	Summary: "attention to neighbours, and to theirs (TGAT)",
	Default: Default, Presets: presets, Prefer: preferred, Shapes: configFromTensors, Table: table,
	// Times of imported data may be large numbers, such as seconds since 1970, which float32 rounds to minutes.
	Imported: func(c *Config) { c.ExactTimes = true },
	Lighter:  "fewer num_neighbors or num_layers",
	Build:    func(env model.Env, c Config) (model.Model, error) { return New(env, c) },
})

// Model is TGAT on a device. One goroutine at a time may use it.
type Model struct {
	plan       sample.Plan
	params     *nn.Params
	node, edge *nn.Features

	time  nn.TimeEncoder
	graph *attention.Graph
	head  model.Head
}

var _ model.Weigher = (*Model)(nil)

// New builds the model with initial weights.
func New(env model.Env, c Config) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := declare(c, env.Seed)
	picker, err := c.attention().Picker()
	if err != nil {
		return nil, err
	}
	m.plan = sample.Plan{Draws: c.attention().Draws(), Picker: picker, ExactTimes: c.ExactTimes}
	if m.node, m.edge, err = env.Features(c.NodeDim, c.EdgeDim); err != nil {
		return nil, err
	}
	m.graph.Node, m.graph.Edge = m.node, m.edge
	if err := env.Place(m.params, "narrower layers"); err != nil {
		m.Close()
		return nil, err
	}
	if c.FreezeTime {
		m.params.Freeze("0.time_encoder.")
	}
	return m, nil
}

// declare names all parameters; they have no memory yet.
func declare(c Config, seed uint64) *Model {
	m := &Model{params: nn.NewParams(seed)}
	s := m.params.In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	m.graph = attention.New(s, m.time, c.attention())
	m.head = model.Merge{Merge: nn.NewMerge(m.params.In("1"), 2*c.NodeDim, c.NodeDim, 1)}
	return m
}

// Plan asks for neighbours, and for the neighbours that they had.
func (m *Model) Plan() sample.Plan { return m.plan }

// Params are the weights.
func (m *Model) Params() *nn.Params { return m.params }

// Head scores the two nodes together.
func (m *Model) Head() model.Head { return m.head }

// Sided says that each node is described alone, whichever side of a query it is on.
func (m *Model) Sided() {}

// Close gives all memory back.
func (m *Model) Close() {
	m.params.Close()
	m.node.Close()
	m.edge.Close()
}

// Embed describes both nodes by those that they met.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	m.graph.Load(tp, b, len(b.Queries))
	z := m.graph.Embed(tp, nil)                   // [2n, NodeDim]
	src, dst := grad.Split(tp, z, len(b.Queries)) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}
}

// Weigh is Embed, and how much each neighbour counts.
func (m *Model) Weigh(tp *grad.Tape, b *sample.Batch) (model.Embedding, []*tensor.Tensor) {
	m.graph.Load(tp, b, len(b.Queries))
	z, weights := m.graph.Weigh(tp, nil)          // [2n, NodeDim], of each draw [rows, Neighbors]
	src, dst := grad.Split(tp, z, len(b.Queries)) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}, weights
}

// configFromTensors is base changed to what the shapes of a checkpoint's tensors tell: widths and layers. They tell
// neither heads nor neighbours.
func configFromTensors(base Config, shapes map[string][]int) (Config, error) {
	d := model.NewDims("TGAT", shapes)
	found := attention.FromTensors(d, "0")
	if d.Err() != nil {
		return base, d.Err()
	}
	base.NodeDim, base.EdgeDim, base.TimeDim, base.Layers = found.Node, found.Edge, found.Time, found.Layers
	return base, nil
}

// table lists the model's parameters under the names and in the order of the released program's checkpoints.
func table(c Config) []model.Shape { return model.Table(declare(c, 0).params) }
