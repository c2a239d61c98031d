// Package cawn is CAWN: inductive representation learning in temporal networks via causal anonymous walks (Wang et al.,
// ICLR 2021), as DyGLib has it.
//
// From each of a query's two nodes walks go back in time. A step is known by its features and, in place of who it is,
// by how often it occurs on each level of the walks from either node. A recurrent network reads each walk, attention
// compares the walks of a node, and their mean is its embedding.
package cawn

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds CAWN.
var Factory = model.Make(model.Kind[Config]{
	Title:   "CAWN",
	Summary: "anonymous walks back in time from both nodes (CAWN)",
	Default: Default, Presets: presets, Prefer: best.Prefer, Shapes: fromTensors,
	Imported: func(c *Config) { c.ExactTimes = true },
	Lighter:  "fewer num_neighbors, a shorter walk_length or a smaller position_feat_dim",
	Declare:  declare,
})

// Model is CAWN on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	cfg    Config
	picker sample.Picker
	input  input

	time      nn.TimeEncoder
	position  [2]nn.Linear
	walks     nn.BiLSTM // of all that is known of steps
	positions nn.BiLSTM // of their positions alone
	compare   *nn.Transformer
	project   [2]nn.Linear // to the attention among walks, and from it
}

// declare names the parameters as the released program's checkpoints do, in their order.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	p := s.In("position_encoder.position_encode_layer")
	m.position[0] = nn.NewLinear(p.In("0"), c.Length+1, c.PositionDim)
	m.position[1] = nn.NewLinear(p.In("2"), c.PositionDim, c.PositionDim)
	s = s.In("walk_encoder")
	half, halfPosition := c.stepDim()/2, c.PositionDim/2
	m.walks = nn.NewBiLSTM(s.In("feature_encoder.bilstm_encoder"), c.stepDim(), half)
	m.positions = nn.NewBiLSTM(s.In("position_encoder.bilstm_encoder"), c.PositionDim, halfPosition)
	m.compare = nn.NewTransformer(s.In("transformer_encoder"), c.width(), c.Heads, device.ReLU, float32(c.Dropout))
	m.project[0] = nn.NewLinear(s.In("projection_layers.0"), 2*half+2*halfPosition, c.width())
	m.project[1] = nn.NewLinear(s.In("projection_layers.1"), c.width(), c.NodeDim)
	m.MergeHead(2*c.NodeDim, c.NodeDim)
	m.FreezeTime(c.FreezeTime)
	return m
}

// Open makes the picker and uploads features.
func (m *Model) Open(env model.Env) (err error) {
	m.input.open(m.cfg)
	if m.picker, err = sample.NewPicker(m.cfg.PickerOptions); err != nil {
		return err
	}
	return m.OpenFeatures(env, m.cfg.NodeDim, m.cfg.EdgeDim)
}

// Plan asks for the trees of walks: all of the source's steps, then all of the destination's.
func (m *Model) Plan() sample.Plan {
	n := m.cfg.Neighbors
	var draws []sample.Draw
	for _, of := range []sample.Root{sample.Src, sample.Dst} {
		for range m.cfg.Length {
			draws = append(draws, sample.Draw{Of: of, Neighbors: n, RowLen: n})
			of = sample.Hop(len(draws) - 1)
		}
	}
	return m.WithTimeline(sample.Plan{Draws: draws, Picker: m.picker, ExactTimes: m.cfg.ExactTimes})
}

// Embed describes each of the queries' nodes by the walks that begin there.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	in := &m.input
	in.load(m, tp, b)
	h := m.readWalks(tp)                                                    // [2n·walks, width]
	h = grad.Reshape(tp, h, 2*len(b.Queries), m.cfg.walks(), m.cfg.width()) // [2n, walks, width]
	h = m.compare.PostNorm(tp, h, h, device.Ints{})                         // walks of padding are walks too
	z := m.project[1].Forward(tp, grad.MeanSteps(tp, h))                    // [2n, NodeDim]
	src, dst := grad.Split(tp, z, len(b.Queries))                           // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}
}

// readWalks is what the recurrent networks say at the last step of every walk, [2n·walks, width].
func (m *Model) readWalks(tp *grad.Tape) *tensor.Tensor {
	in, c := &m.input, &m.cfg
	place := m.encodePositions(tp)                      // [steps, PositionDim]
	code := m.time.Forward(tp, in.delta, device.Ints{}) // [steps, TimeDim]
	var list [4]grad.Part
	parts := m.Node.Part(tp, list[:0], in.nodes, 0) // [steps, ≤NodeDim]
	parts = append(parts, grad.Part{X: code, Lo: c.NodeDim})
	parts = m.Edge.Part(tp, parts, in.edges, c.NodeDim+c.TimeDim) // [steps, ≤EdgeDim]
	parts = append(parts, grad.Part{X: place, Lo: c.NodeDim + c.TimeDim + c.EdgeDim})
	forth, back := m.walks.Ends(tp, &in.tree, parts...)                          // [2n·walks, stepDim/2] each
	forthPlace, backPlace := m.positions.Ends(tp, &in.tree, grad.Part{X: place}) // [2n·walks, PositionDim/2] each
	return m.project[0].Join(tp, device.Identity, forth, back, forthPlace, backPlace)
}

// encodePositions encodes where each step's node occurs in the walks from the source, and from the destination, and
// adds both up: [steps, PositionDim]. The second map is linear, so that it is taken of the sum.
func (m *Model) encodePositions(tp *grad.Tape) *tensor.Tensor {
	src := m.position[0].Act(tp, m.input.shares[0], device.ReLU) // [steps, PositionDim]
	dst := m.position[0].Act(tp, m.input.shares[1], device.ReLU)
	twice := grad.Scale(tp, m.position[1].B, 2)
	return grad.Linear(tp, grad.Add(tp, src, dst), m.position[1].W, twice, device.Identity)
}
