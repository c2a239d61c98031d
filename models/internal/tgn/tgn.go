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
	"github.com/dygmamba/dygmamba/models/internal/dyglib"
	"github.com/dygmamba/dygmamba/models/internal/messages"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds TGN.
var Factory = model.Make(model.Kind[Config]{
	Title:   "TGN",
	Summary: "memories of nodes, described by attention to those they met (TGN)",
	Default: Default,
	Presets: messages.Presets("tgn", func(c *Config, v dyglib.Tuned) { c.Tune(v) }),
	Prefer:  messages.Prefer,
	Shapes:  func(c *Config, d *model.Dims) { c.FromTensors(d, "0.embedding_module") },
	Ignore:  messages.IgnoredToo, Released: messages.ReleasedToo,
	Imported:  func(c *Config) { c.ExactTimes = true },
	Remembers: true,
	Lighter:   "fewer num_neighbors or num_layers",
	Declare:   declare,
})

// Model is TGN on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	*messages.Memory
	cfg  Config
	plan sample.Plan

	time   nn.TimeEncoder
	update nn.GRU
	graph  *attention.Graph
}

var (
	_ model.Memory  = (*Model)(nil)
	_ model.Weigher = (*Model)(nil)
	_ model.Shaper  = (*Model)(nil)
)

// declare names the parameters as the released program's checkpoints do, in their order.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	m.update = nn.NewGRU(s.In("memory_updater.memory_updater"), c.messages().Message(), c.NodeDim)
	m.graph = attention.New(&m.Base, s.In("embedding_module"), m.time, c.Config)
	m.MergeHead(2*c.NodeDim, c.NodeDim)
	m.FreezeTime(c.FreezeTime)
	return m
}

// Open makes the plan and an empty memory, and uploads features.
func (m *Model) Open(env model.Env) (err error) {
	if m.plan, err = m.cfg.Plan(m.cfg.ExactTimes); err != nil {
		return err
	}
	m.plan.NegativesFirst, m.plan.Distinct = true, true
	if err := m.OpenFeatures(env, m.cfg.NodeDim, m.cfg.EdgeDim); err != nil {
		return err
	}
	m.Memory = messages.New(env.Device, env.NumNodes, m.cfg.messages(), m.update, m.time, m.Edge)
	return nil
}

// Plan asks for neighbours, and for the batch's distinct nodes: each of their memories is computed once.
func (m *Model) Plan() sample.Plan { return m.WithTimeline(m.plan) }

// UnitPlan asks for nothing: a message is made of the two nodes' memories and the event.
func (m *Model) UnitPlan() sample.Plan { return sample.Plan{} }

// Sided says that each node is described alone, whichever side of a query it is on.
func (m *Model) Sided() {}

// Close gives all memory back.
func (m *Model) Close() {
	m.Base.Close()
	m.Memory.Close()
}

// Embed describes both nodes: by what they and their neighbours remember, and when they met.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	m.load(tp, b)
	memory, _ := m.Memory.Now(tp)                 // [distinct, NodeDim]
	z := m.graph.Embed(tp, memory)                // [2n, NodeDim]
	src, dst := grad.Split(tp, z, len(b.Queries)) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}
}

// Weigh is Embed, and how much each neighbour counts.
func (m *Model) Weigh(tp *grad.Tape, b *sample.Batch) (model.Embedding, []*tensor.Tensor) {
	m.load(tp, b)
	memory, _ := m.Memory.Now(tp)                 // [distinct, NodeDim]
	z, weights := m.graph.Weigh(tp, memory)       // [2n, NodeDim], of each draw [rows, Neighbors]
	src, dst := grad.Split(tp, z, len(b.Queries)) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}, weights
}

func (m *Model) load(tp *grad.Tape, b *sample.Batch) {
	m.Memory.Load(tp, b)
	m.graph.Load(tp, b, len(b.Queries))
}

// Commit lets the nodes of the events make their memories new and leaves messages with them. What Embed has computed of
// the same batch is used again.
func (m *Model) Commit(tp *grad.Tape, b *sample.Batch, e *model.Embedding) {
	if e == nil {
		m.Memory.LoadEvents(tp, b)
	}
	m.Memory.Commit(tp, nil)
}
