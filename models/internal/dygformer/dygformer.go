// Package dygformer is DyGFormer: a Transformer over the joined histories of two nodes (Yu et al., NeurIPS 2023).
//
// Both nodes' latest neighbours, each with how often it occurs on either side, are cut into patches. The patches of the
// source and those of the destination form one sequence, so that attention sees what the two have in common. Rows are
// as long as the longest history of their call, and nothing hides the padding: Config.Padding.
//
// With Mamba blocks in place of the Transformer's layers it is the ablation G of DyGMamba (Ding et al., TMLR 2025).
package dygformer

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds DyGFormer.
var Factory = factory(Transformer, "a Transformer over both nodes' joined histories (DyGFormer)")

// FactoryMamba builds the DyGMamba paper's variant G.
var FactoryMamba = factory(Mamba, "DyGFormer with Mamba blocks instead of its Transformer (variant G of DyGMamba)")

func factory(layer, summary string) model.Factory {
	c := Default
	c.Layer = layer
	return model.Make(model.Kind[Config]{
		Title:   "DyGFormer",
		Summary: summary, Default: c, Presets: presets, Prefer: preferred, Shapes: fromTensors,
		Imported: func(c *Config) { c.ExactTimes = true },
		Lighter:  "a shorter max_input_sequence_length, a larger patch_size or a smaller channel_embedding_dim",
		Declare:  declare,
	})
}

// Model is DyGFormer on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	cfg   Config
	input input

	time     nn.TimeEncoder
	channels []sequence.Channel
	layers   []layer
	output   nn.Linear
}

// layer reads sequences, [n, P, 4d] → [n, P, 4d].
type layer func(tp *grad.Tape, h *tensor.Tensor) *tensor.Tensor

// declare names the parameters as the released program's checkpoints do, in their order.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("0")
	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	f := s.In("neighbor_co_occurrence_encoder.neighbor_co_occurrence_encode_layer")
	m.input.Often = sequence.NewCounts(f, c.Channel)
	m.declareChannels(s.In("projection_layer"))
	m.declareLayers(s)
	m.output = nn.NewLinear(s.In("output_layer"), c.Width(), c.NodeDim)
	m.MergeHead(2*c.NodeDim, c.NodeDim)
	m.FreezeTime(c.FreezeTime)
	return m
}

func (m *Model) declareChannels(s nn.Scope) {
	c, in := m.cfg, &m.input.Tables
	add := func(name string, width int) nn.Linear { return nn.NewLinear(s.In(name), c.Patch*width, c.Channel) }
	m.channels = []sequence.Channel{
		in.NodeChannel(add("node", c.NodeDim), c.NodeDim),
		in.EdgeChannel(add("edge", c.EdgeDim), c.EdgeDim),
		sequence.TimeChannel(add("time", c.TimeDim), c.Patch, m.time.Forward),
		in.CountChannel(add("neighbor_co_occurrence", c.Channel), c.Patch),
	}
}

func (m *Model) declareLayers(s nn.Scope) {
	c := m.cfg
	if c.Layer == Transformer {
		for l := range c.Layers {
			in := s.In("transformers").In(fmt.Sprint(l))
			t := nn.NewTransformer(in, c.Width(), c.Heads, device.GELU, float32(c.Dropout))
			m.layers = append(m.layers, t.PreNorm)
		}
		return
	}
	block := sequence.Block{}
	for l := range c.Layers {
		mamba := nn.NewMamba(s.In("mamba").In(fmt.Sprint(l)), c.Width(), nn.StateDim, nn.ConvWidth)
		block.Layers = append(block.Layers, mamba)
	}
	if c.FeedForward {
		block.ShareFeedForward(s, c.Layers, c.Width(), c.Dropout)
		m.layers = []layer{block.Forward}
		return
	}
	for _, b := range block.Layers {
		m.layers = append(m.layers, func(tp *grad.Tape, h *tensor.Tensor) *tensor.Tensor {
			return grad.Add(tp, b.Forward(tp, h), h)
		})
	}
}

// Open uploads what is the same for all batches.
func (m *Model) Open(env model.Env) error { return m.input.open(env, m.cfg) }

// Plan asks for the latest neighbours of both nodes, and how often each occurs on either side.
func (m *Model) Plan() sample.Plan { return m.WithTimeline(m.cfg.Plan()) }

// Shape tells steps apart between which a table of features has moved.
func (m *Model) Shape(*sample.Batch) uint64 { return m.input.Moves() }

// Close gives the weights' and the features' memory back.
func (m *Model) Close() {
	m.Base.Close()
	m.input.Tables.Close()
}

// Embed describes both nodes, seen from each other and from the query's time.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	m.input.load(tp, b)
	h := sequence.SideBySide(tp, m.channels, &m.input.Positions) // [n, P, 4d]: the source's patches first
	for _, layer := range m.layers {
		h = layer(tp, h)
	}
	return model.Embedding{Src: m.describe(tp, m.input.src, h), Dst: m.describe(tp, m.input.dst, h)}
}

// describe makes one vector of a node's part of the sequences: the mean of its steps, padding included, which weights
// [n, P] take.
func (m *Model) describe(tp *grad.Tape, weights, h *tensor.Tensor) *tensor.Tensor {
	mean := grad.Pool(tp, weights, h) // [n, 4d]
	return m.output.Forward(tp, mean) // [n, NodeDim]
}
