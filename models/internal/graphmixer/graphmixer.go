// Package graphmixer is GraphMixer, of "Do We Really Need Complicated Model Architectures for Temporal Networks?" (Cong
// et al., ICLR 2023).
//
// A link encoder mixes a node's latest events with small multilayer perceptrons, across events and across features;
// times are encoded by fixed frequencies. A node encoder averages the features of recent neighbours. There is no
// attention and no memory, and either node is looked at alone.
package graphmixer

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds GraphMixer.
var Factory = model.Make(model.Kind[Config]{
	Title:   "GraphMixer",
	Summary: "multilayer perceptrons that mix the latest events (GraphMixer)",
	Default: Default, Presets: presets, Prefer: best.Prefer, Shapes: fromTensors,
	Imported: func(c *Config) { c.ExactTimes = true },
	Lighter:  "fewer num_neighbors or a smaller edge_feat_dim",
	Declare:  declare,
})

// Model is GraphMixer on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	cfg    Config
	picker sample.Picker
	input  input

	time    nn.TimeEncoder // never trained
	project nn.Linear
	mixers  []mixer
	output  nn.Linear
}

// mixer mixes events, then features, each through a perceptron with a residual.
type mixer struct {
	tokenNorm   nn.LayerNorm
	token       nn.FeedForward
	channelNorm nn.LayerNorm
	channel     nn.FeedForward
}

// declare names the parameters as the released program's checkpoints do, in their order.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	m.project = nn.NewLinear(s.In("projection_layer"), c.EdgeDim+c.TimeDim, c.EdgeDim)
	for l := range c.Layers {
		s, rate := s.In("mlp_mixers").In(fmt.Sprint(l)), float32(c.Dropout)
		feed := func(name string, width, hidden int) nn.FeedForward {
			return nn.NewFeedForward(s.In(name), "ffn.0", "ffn.3", width, hidden, width, device.GELU, rate)
		}
		m.mixers = append(m.mixers, mixer{
			tokenNorm:   nn.NewLayerNorm(s.In("token_norm"), c.Neighbors),
			token:       feed("token_feedforward", c.Neighbors, c.Neighbors/2),
			channelNorm: nn.NewLayerNorm(s.In("channel_norm"), c.EdgeDim),
			channel:     feed("channel_feedforward", c.EdgeDim, 4*c.EdgeDim),
		})
	}
	m.output = nn.NewLinear(s.In("output_layer"), c.EdgeDim+c.NodeDim, c.NodeDim)
	m.MergeHead(2*c.NodeDim, c.NodeDim)
	m.FreezeTime(true)
	return m
}

// Open makes the picker and uploads features.
func (m *Model) Open(env model.Env) (err error) {
	if m.picker, err = sample.NewPicker(m.cfg.PickerOptions); err != nil {
		return err
	}
	return m.OpenFeatures(env, m.cfg.NodeDim, m.cfg.EdgeDim)
}

// Sided says that each node is described alone, whichever side of a query it is on.
func (m *Model) Sided() {}

// Plan asks for the events to be mixed and for the neighbours whose node features are averaged: of the source, then of
// the destination, as the released program draws them. Where all node features are zero the latter change nothing, and
// are left out unless drawing them would move a generator.
func (m *Model) Plan() sample.Plan {
	mixed := sample.Draw{Neighbors: m.cfg.Neighbors, RowLen: m.cfg.Neighbors}
	draws := sample.Both(mixed)
	if m.drawsGap() {
		gap := sample.Both(sample.Draw{Neighbors: m.cfg.gapRow(), RowLen: m.cfg.gapRow()})
		draws = []sample.Draw{draws[0], gap[0], draws[1], gap[1]}
	}
	return m.WithTimeline(sample.Plan{Draws: draws, Picker: m.picker, ExactTimes: m.cfg.ExactTimes})
}

func (m *Model) drawsGap() bool { return m.picker != nil || !m.Node.Empty() }

// Embed describes each of the queries' nodes by what it did and by whom it met.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	m.input.load(m, tp, b)
	var list [2]grad.Part
	parts := append(list[:0], grad.Part{X: m.links(tp)}) // [2n, EdgeDim]
	if !m.Node.Empty() {
		parts = append(parts, grad.Part{X: m.neighbors(tp), Lo: m.cfg.EdgeDim}) // [2n, ≤NodeDim]
	}
	z := grad.LinearSum(tp, m.output.W, m.output.B, device.Identity, parts...) // [2n, NodeDim]
	src, dst := grad.Split(tp, z, len(b.Queries))                              // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}
}

// links is the link encoder: the mean of all mixed events, padding included.
func (m *Model) links(tp *grad.Tape) *tensor.Tensor {
	in := &m.input
	var list [2]grad.Part
	parts := m.Edge.Part(tp, list[:0], in.edges, 0)                                                  // [2n·K, ≤EdgeDim]
	parts = append(parts, grad.Part{X: m.time.Forward(tp, in.delta, in.present), Lo: m.cfg.EdgeDim}) // [2n·K, TimeDim]
	h := grad.LinearSum(tp, m.project.W, m.project.B, device.Identity, parts...)                     // [2n·K, EdgeDim]
	h = grad.Reshape(tp, h, in.rows, m.cfg.Neighbors, m.cfg.EdgeDim)                                 // [2n, K, EdgeDim]
	for i := range m.mixers {
		h = m.mixers[i].mix(tp, h)
	}
	return grad.MeanSteps(tp, h) // [2n, EdgeDim]
}

// mix is [2n, K, c] → [2n, K, c].
func (l *mixer) mix(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	t := l.tokenNorm.Forward(tp, grad.Transpose(tp, x)) // [2n, c, K]
	t = grad.Transpose(tp, l.token.Forward(tp, t))      // [2n, K, c]
	x = grad.Add(tp, x, t)
	return grad.Add(tp, x, l.channel.Forward(tp, l.channelNorm.Forward(tp, x)))
}

// neighbors is the node encoder: a node's own features and the mean of its neighbours'. Nothing in it is learned.
func (m *Model) neighbors(tp *grad.Tape) *tensor.Tensor {
	in, table := &m.input, m.Node.Table()
	sum := grad.Gather(tp, table, in.met, m.cfg.gapRow()) // [2n, cols]
	mean := grad.Mul(tp, sum, in.share)                   // [2n, cols]
	return grad.Add(tp, mean, grad.Gather(tp, table, in.own, 1))
}
