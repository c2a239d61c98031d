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
	"github.com/dygmamba/dygmamba/models/internal/dyglib"
	"github.com/dygmamba/dygmamba/models/internal/messages"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds JODIE.
var Factory = model.Make(model.Kind[Config]{
	Title:   "JODIE",
	Summary: "memories of nodes that drift with time (JODIE)",
	Default: Default,
	Presets: messages.Presets("jodie", func(c *Config, v dyglib.Tuned) { c.Dropout = v.Dropout }),
	Prefer:  messages.Prefer,
	Shapes:  fromTensors, Ignore: messages.Ignored, Released: messages.Released,
	Imported:  func(c *Config) { c.ExactTimes = true },
	Remembers: true,
	Lighter:   "a smaller node_feat_dim",
	Declare:   declare,
})

// Model is JODIE on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	*messages.Memory
	cfg Config

	time   nn.TimeEncoder
	update nn.RNN
	drift  nn.Linear

	shifts [4]float32 // of sources, then destinations: the usual wait, and 1 / its standard deviation
	input  input
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
	m.drift = nn.NewLinear(s.In("embedding_module.linear_layer"), 1, c.NodeDim)
	m.MergeHead(2*c.NodeDim, c.NodeDim)
	return m
}

// Open measures the training data, uploads features and makes an empty memory.
func (m *Model) Open(env model.Env) error {
	src, dst, err := shifts(env)
	if err != nil {
		return err
	}
	m.shifts = [4]float32{float32(src.mean), float32(1 / src.deviation), float32(dst.mean), float32(1 / dst.deviation)}
	env.Node, env.Timeline = dataset.Features{}, nil // are not looked at
	if err := m.OpenFeatures(env, m.cfg.NodeDim, m.cfg.EdgeDim); err != nil {
		return err
	}
	m.Memory = messages.New(env.Device, env.NumNodes, m.cfg.messages(), m.update, m.time, m.Edge)
	return nil
}

// Plan asks for the batch's distinct nodes: each of their memories is computed once.
func (m *Model) Plan() sample.Plan { return sample.Plan{Distinct: true} }

// UnitPlan asks for nothing: a message is made of the two nodes' memories and the event.
func (m *Model) UnitPlan() sample.Plan { return sample.Plan{} }

// Close gives all memory back.
func (m *Model) Close() {
	m.Base.Close()
	m.Memory.Close()
}

// Embed describes both nodes by what they remember, moved on to the query's time: M ⊙ (1 + w·Δ + b) with Δ the time
// since the last message, in standard deviations from the usual wait.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	in := &m.input
	m.Memory.Load(tp, b)
	in.load(tp, m, b)
	memory, updated := m.Memory.Now(tp)                                          // [distinct, NodeDim], [distinct, 2]
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
		m.Memory.LoadEvents(tp, b)
	}
	m.Memory.Commit(tp, nil)
}

// Snapshot copies all that is remembered out.
func (m *Model) Snapshot() []tensor.Named { return append(m.Memory.Snapshot(), m.saved()) }

// Written is Snapshot to be written to a file before the next step.
func (m *Model) Written() []tensor.Named { return append(m.Memory.Written(), m.saved()) }

// Restore puts back what Snapshot copied out; nil forgets all events. Nothing changes on an error.
func (m *Model) Restore(state []tensor.Named) error {
	if state == nil {
		return m.Memory.Restore(nil)
	}
	before := m.shifts
	if err := m.take(state); err != nil {
		return err
	}
	if err := m.Memory.Restore(state); err != nil {
		m.shifts = before
		return err
	}
	return nil
}

// fromTensors changes c to what the shapes of a checkpoint's tensors tell: all widths.
func fromTensors(c *Config, d *model.Dims) {
	const cell = "0.memory_updater.memory_updater.weight_ih"
	node, message := d.Matrix(cell)                    // [node, 2·node+time+edge]
	c.TimeDim, _ = d.Matrix("0.time_encoder.w.weight") // [time, 1]
	c.NodeDim = node
	c.EdgeDim = d.Less(cell, message, 2*node+c.TimeDim, "two memories and a time code of")
}
