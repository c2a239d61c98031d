// Package dyrep is DyRep in the form of the common memory framework (Trivedi et al., DyRep: Learning Representations
// over Dynamic Graphs, ICLR 2019).
//
// Every node has a memory, which a recurrent cell changes with the messages of its events, and which is all that
// describes it. What the other node of an event says in a message is what attention finds among those that it met.
package dyrep

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/attention"
	"github.com/dygmamba/dygmamba/models/internal/dyglib"
	"github.com/dygmamba/dygmamba/models/internal/messages"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds DyRep.
var Factory = model.Make(model.Kind[Config]{
	Title:   "DyRep",
	Summary: "memories of nodes that hear of each other's neighbours (DyRep)",
	Default: Default,
	Presets: messages.Presets("dyrep", func(c *Config, v dyglib.Tuned) { c.Tune(v) }),
	Prefer:  messages.Prefer,
	Shapes:  func(c *Config, d *model.Dims) { c.FromTensors(d, "0.embedding_module") },
	Ignore:  messages.IgnoredToo, Released: messages.ReleasedToo,
	Imported:  func(c *Config) { c.ExactTimes = true },
	Remembers: true,
	Lighter:   "fewer num_neighbors or num_layers",
	Declare:   declare,
})

// Model is DyRep on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	*messages.Memory
	cfg  Config
	plan sample.Plan

	time   nn.TimeEncoder
	update nn.RNN
	graph  *attention.Graph

	src, dst device.Ints    // [n] where the batch's sources and destinations stand among its distinct nodes
	now      *tensor.Tensor // [distinct, NodeDim] what these remember
}

var (
	_ model.Memory = (*Model)(nil)
	_ model.Shaper = (*Model)(nil)
)

// declare names the parameters as the released program's checkpoints do, in their order.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	m.update = nn.NewRNN(s.In("memory_updater.memory_updater"), c.messages().Message(), c.NodeDim)
	m.graph = attention.New(&m.Base, s.In("embedding_module"), m.time, c.Config)
	m.MergeHead(2*c.NodeDim, c.NodeDim)
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

// Plan asks for neighbours, of which messages are made, and for the batch's distinct nodes: each of their memories is
// computed once.
func (m *Model) Plan() sample.Plan { return m.WithTimeline(m.plan) }

// UnitPlan asks for the same.
func (m *Model) UnitPlan() sample.Plan { return m.WithTimeline(m.plan) }

// Close gives all memory back.
func (m *Model) Close() {
	m.Base.Close()
	m.Memory.Close()
}

// Embed describes both nodes by what they remember. That does not depend on the query's time.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	m.load(tp, b)
	m.now, _ = m.Memory.Now(tp)                                                    // [distinct, NodeDim]
	src, dst := grad.Gather(tp, m.now, m.src, 1), grad.Gather(tp, m.now, m.dst, 1) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}
}

// load uploads all that Embed and Commit need.
func (m *Model) load(tp *grad.Tape, b *sample.Batch) {
	m.Memory.Load(tp, b)
	m.graph.Load(tp, b, b.Events.Len())
	m.src, m.dst = tp.Ints(b.Distinct.Src), tp.Ints(b.Distinct.Dst)
}

// Commit lets the nodes of the events make their memories new and leaves messages with them, in which each says what
// attention finds among its neighbours. The attention is not learned, but drops out as the rest does. What Embed has
// computed of the same batch is used again.
func (m *Model) Commit(tp *grad.Tape, b *sample.Batch, e *model.Embedding) {
	if e == nil {
		m.load(tp, b)
		m.now, _ = m.Memory.Now(tp) // [distinct, NodeDim]
	}
	tp.Aside(func() {
		said := m.graph.Embed(tp, m.now) // [2k, NodeDim]
		m.Memory.Commit(tp, said)
	})
}
