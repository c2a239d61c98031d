// Package jodie is JODIE in the form of the common memory framework (Kumar et al., Predicting Dynamic Embedding
// Trajectory in Temporal Interaction Networks, KDD 2019).
//
// Every node has a memory, which a recurrent cell changes with the messages of its events. Between events it drifts:
// the longer ago the last one was, the further a linear map moves it.
package jodie

import (
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/messages"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds JODIE.
var Factory = model.Make(model.Kind[Config]{
	Summary: "memories of nodes that drift with time (JODIE)",
	Default: Default, Presets: messages.Presets((*Config).tune), Prefer: messages.Prefer,
	Shapes: configFromTensors, Table: table, Ignore: messages.Ignored, Released: released,
	// Times of imported data may be large numbers, such as seconds since 1970, which float32 rounds to minutes.
	Imported:  func(c *Config) { c.ExactTimes = true },
	Remembers: true,
	Lighter:   "a smaller node_feat_dim",
	Build:     func(env model.Env, c Config) (model.Model, error) { return New(env, c) },
})

// Model is JODIE on a device. One goroutine at a time may use it.
type Model struct {
	cfg    Config
	params *nn.Params
	edge   *nn.Features

	time   nn.TimeEncoder
	update nn.RNN
	drift  nn.Linear
	memory *messages.Memory
	head   model.Head

	shifts [4]float32 // of sources, then destinations: the usual wait, and 1 / its standard deviation
	input  input
}

var (
	_ model.Memory = (*Model)(nil)
	_ model.Shaper = (*Model)(nil)
)

// New builds the model with initial weights and nothing to remember.
func New(env model.Env, c Config) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	src, dst, err := shifts(env)
	if err != nil {
		return nil, err
	}
	m := declare(c, env.Seed)
	m.shifts = [4]float32{float32(src.mean), float32(1 / src.deviation), float32(dst.mean), float32(1 / dst.deviation)}
	env.Node = dataset.Features{} // are not looked at
	if _, m.edge, err = env.Features(c.NodeDim, c.EdgeDim); err != nil {
		return nil, err
	}
	if err := env.Place(m.params, "narrower layers"); err != nil {
		m.edge.Close()
		return nil, err
	}
	m.memory = messages.New(env.Device, env.NumNodes, c.messages(), m.update, m.time, m.edge)
	return m, nil
}

// declare names all parameters; they have no memory yet.
func declare(c Config, seed uint64) *Model {
	m := &Model{cfg: c, params: nn.NewParams(seed)}
	s := m.params.In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	m.update = nn.NewRNN(s.In("memory_updater.memory_updater"), c.messages().Message(), c.NodeDim)
	m.drift = nn.NewLinear(s.In("embedding_module.linear_layer"), 1, c.NodeDim)
	m.head = model.Merge{Merge: nn.NewMerge(m.params.In("1"), 2*c.NodeDim, c.NodeDim, 1)}
	return m
}

// Plan asks for the batch's distinct nodes: each of their memories is computed once.
func (m *Model) Plan() sample.Plan { return sample.Plan{Distinct: true} }

// UnitPlan asks for nothing: a message is made of the two nodes' memories and the event.
func (m *Model) UnitPlan() sample.Plan { return sample.Plan{} }

// Params are the weights.
func (m *Model) Params() *nn.Params { return m.params }

// Head scores the two nodes together.
func (m *Model) Head() model.Head { return m.head }

// Close gives all memory back.
func (m *Model) Close() {
	m.params.Close()
	m.edge.Close()
	m.memory.Close()
}

// Embed describes both nodes by what they remember, moved on to the query's time: M ⊙ (1 + w·Δ + b) with Δ the time
// since the last message, in standard deviations from the usual wait.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	in := &m.input
	m.memory.Load(tp, b)
	in.load(tp, m, b)
	memory, updated := m.memory.Now(tp)                                          // [distinct, NodeDim], [distinct, 2]
	own := grad.Gather(tp, memory, in.slots, 1)                                  // [2n, NodeDim]
	since := messages.Since(tp, in.times, grad.Gather(tp, updated, in.slots, 1)) // [2n, 1]
	delta := grad.Mul(tp, grad.Sub(tp, since, in.mean), in.scale)                // [2n, 1]
	z := grad.Add(tp, own, grad.Mul(tp, own, m.drift.Forward(tp, delta)))        // [2n, NodeDim]
	src, dst := grad.Split(tp, grad.Dropout(tp, z, float32(m.cfg.Dropout)), len(b.Queries))
	return model.Embedding{Src: src, Dst: dst} // [n, NodeDim] each
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
func (m *Model) Snapshot() []tensor.Named { return append(m.memory.Snapshot(), m.saved()) }

// Restore puts back what Snapshot copied out; nil forgets all events. Nothing changes on an error.
func (m *Model) Restore(state []tensor.Named) error {
	if state == nil {
		return m.memory.Restore(nil)
	}
	before := m.shifts
	if err := m.take(state); err != nil {
		return err
	}
	if err := m.memory.Restore(state); err != nil {
		m.shifts = before
		return err
	}
	return nil
}

// Grow makes room for node ids below nodes.
func (m *Model) Grow(nodes int) { m.memory.Grow(nodes) }

// Shape is what a step depends on beside the sizes of its batch.
func (m *Model) Shape(b *sample.Batch) uint64 { return m.memory.Shape(b) }

// configFromTensors is base changed to what the shapes of a checkpoint's tensors tell: all widths.
func configFromTensors(base Config, shapes map[string][]int) (Config, error) {
	d := model.NewDims("JODIE", shapes)
	const cell = "0.memory_updater.memory_updater.weight_ih"
	node, message := d.Matrix(cell)                // [node, 2·node+time+edge]
	time, _ := d.Matrix("0.time_encoder.w.weight") // [time, 1]
	edge := d.Less(cell, message, 2*node+time, "two memories and a time code of")
	if d.Err() != nil {
		return base, d.Err()
	}
	base.NodeDim, base.TimeDim, base.EdgeDim = node, time, edge
	return base, nil
}

// table lists the model's parameters under the names and in the order of the released program's checkpoints.
func table(c Config) []model.Shape { return model.Table(declare(c, 0).params) }

// released is memories, which are ignored when they come back.
func released(_, state []tensor.Named) []tensor.Named { return messages.Released(state) }
