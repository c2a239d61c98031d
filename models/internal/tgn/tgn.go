// Package tgn is TGN: temporal graph networks (Rossi et al., Temporal Graph Networks for Deep Learning on Dynamic
// Graphs, 2020).
//
// Every node has a memory, which a gated recurrent unit changes with the messages of its events; a node is described by
// attention to the memories of those that it met.
package tgn

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/attention"
	"github.com/dygmamba/dygmamba/models/internal/messages"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds TGN.
var Factory = model.Make(model.Kind[Config]{
	Summary: "memories of nodes, described by attention to those they met (TGN)",
	Default: Default, Presets: messages.Presets((*Config).tune), Prefer: messages.Prefer,
	Shapes: configFromTensors, Table: table, Ignore: ignored, Released: released,
	// Times of imported data may be large numbers, such as seconds since 1970, which float32 rounds to minutes.
	Imported:  func(c *Config) { c.ExactTimes = true },
	Remembers: true,
	Lighter:   "fewer num_neighbors or num_layers",
	Build:     func(env model.Env, c Config) (model.Model, error) { return New(env, c) },
})

// Model is TGN on a device. One goroutine at a time may use it.
type Model struct {
	plan       sample.Plan
	params     *nn.Params
	node, edge *nn.Features

	time   nn.TimeEncoder
	update nn.GRU
	graph  *attention.Graph
	memory *messages.Memory
	head   model.Head
}

var (
	_ model.Memory  = (*Model)(nil)
	_ model.Weigher = (*Model)(nil)
	_ model.Shaper  = (*Model)(nil)
)

// New builds the model with initial weights and nothing to remember.
func New(env model.Env, c Config) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := declare(c, env.Seed)
	picker, err := c.attention().Picker()
	if err != nil {
		return nil, err
	}
	m.plan = sample.Plan{
		Draws: c.attention().Draws(), Picker: picker, NegativesFirst: true, Distinct: true, ExactTimes: c.ExactTimes,
	}
	if m.node, m.edge, err = env.Features(c.NodeDim, c.EdgeDim); err != nil {
		return nil, err
	}
	m.graph.Node, m.graph.Edge = m.node, m.edge
	if err := env.Place(m.params, "narrower layers"); err != nil {
		m.node.Close()
		m.edge.Close()
		return nil, err
	}
	if c.FreezeTime {
		m.params.Freeze("0.time_encoder.")
	}
	m.memory = messages.New(env.Device, env.NumNodes, c.messages(), m.update, m.time, m.edge)
	return m, nil
}

// declare names all parameters; they have no memory yet.
func declare(c Config, seed uint64) *Model {
	m := &Model{params: nn.NewParams(seed)}
	s := m.params.In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	m.update = nn.NewGRU(s.In("memory_updater.memory_updater"), c.messages().Message(), c.NodeDim)
	m.graph = attention.New(s.In("embedding_module"), m.time, c.attention())
	m.head = model.Merge{Merge: nn.NewMerge(m.params.In("1"), 2*c.NodeDim, c.NodeDim, 1)}
	return m
}

// Plan asks for neighbours, and for the batch's distinct nodes: each of their memories is computed once.
func (m *Model) Plan() sample.Plan { return m.plan }

// UnitPlan asks for nothing: a message is made of the two nodes' memories and the event.
func (m *Model) UnitPlan() sample.Plan { return sample.Plan{} }

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
	m.memory.Close()
}

// Embed describes both nodes: by what they and their neighbours remember, and when they met.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	m.load(tp, b)
	memory, _ := m.memory.Now(tp)                 // [distinct, NodeDim]
	z := m.graph.Embed(tp, memory)                // [2n, NodeDim]
	src, dst := grad.Split(tp, z, len(b.Queries)) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}
}

// Weigh is Embed, and how much each neighbour counts.
func (m *Model) Weigh(tp *grad.Tape, b *sample.Batch) (model.Embedding, []*tensor.Tensor) {
	m.load(tp, b)
	memory, _ := m.memory.Now(tp)                 // [distinct, NodeDim]
	z, weights := m.graph.Weigh(tp, memory)       // [2n, NodeDim], of each draw [rows, Neighbors]
	src, dst := grad.Split(tp, z, len(b.Queries)) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}, weights
}

func (m *Model) load(tp *grad.Tape, b *sample.Batch) {
	m.memory.Load(tp, b)
	m.graph.Load(tp, b, len(b.Queries))
}

// Commit lets the nodes of the events make their memories new and leaves messages with them. What Embed has computed of
// the same batch is used again.
func (m *Model) Commit(tp *grad.Tape, b *sample.Batch, e *model.Embedding) {
	if e == nil {
		m.memory.LoadEvents(tp, b)
	}
	m.memory.Commit(tp, nil)
}

// Snapshot copies all that is remembered out.
func (m *Model) Snapshot() []tensor.Named { return m.memory.Snapshot() }

// Restore puts back what Snapshot copied out; nil forgets everything.
func (m *Model) Restore(state []tensor.Named) error { return m.memory.Restore(state) }

// Grow makes room for node ids below nodes.
func (m *Model) Grow(nodes int) { m.memory.Grow(nodes) }

// Shape is what a step depends on beside the sizes of its batch.
func (m *Model) Shape(b *sample.Batch) uint64 { return m.memory.Shape(b) }
