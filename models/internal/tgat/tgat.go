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
	"github.com/dygmamba/dygmamba/models/internal/dyglib"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds TGAT.
var Factory = model.Make(model.Kind[Config]{
	Title:    "TGAT",
	Summary:  "attention to neighbours, and to theirs (TGAT)",
	Default:  Default,
	Presets:  model.AsPublished(dyglib.Best("tgat"), func(c *Config, v dyglib.Tuned) { c.Tune(v) }),
	Prefer:   func(model.Data) string { return "paper" },
	Shapes:   func(c *Config, d *model.Dims) { c.FromTensors(d, "0") },
	Imported: func(c *Config) { c.ExactTimes = true },
	Lighter:  "fewer num_neighbors or num_layers",
	Declare:  declare,
})

// Model is TGAT on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	cfg  Config
	plan sample.Plan

	time  nn.TimeEncoder
	graph *attention.Graph
}

var _ model.Weigher = (*Model)(nil)

// declare names the parameters as the released program's checkpoints do, in their order.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	m.graph = attention.New(&m.Base, s, m.time, c.Config)
	m.MergeHead(2*c.NodeDim, c.NodeDim)
	m.FreezeTime(c.FreezeTime)
	return m
}

// Open makes the plan and uploads features.
func (m *Model) Open(env model.Env) (err error) {
	if m.plan, err = m.cfg.Plan(m.cfg.ExactTimes); err != nil {
		return err
	}
	return m.OpenFeatures(env, m.cfg.NodeDim, m.cfg.EdgeDim)
}

// Plan asks for neighbours, and for the neighbours that they had.
func (m *Model) Plan() sample.Plan { return m.WithTimeline(m.plan) }

// Sided says that each node is described alone, whichever side of a query it is on.
func (m *Model) Sided() {}

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
