// Package dygmamba is DyGMamba: continuous-time link prediction with two state space models (Ding et al., TMLR 2025).
//
// A node-level block reads what each of the two nodes did before, a time-level block the gaps between the pair's own
// meetings; the pattern of the gaps then decides which of the nodes' past counts. Config.Arch tells whether the
// released program is computed or the equations as the paper prints them.
package dygmamba

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

// Factory builds DyGMamba.
var Factory = factory("", "node-level and time-level state space models (DyGMamba)")

// The paper's ablations.
var (
	FactoryA = factory("a", "DyGMamba without temporal patterns: mean of the history instead of selection")
	FactoryB = factory("b", "DyGMamba without state space layers in the node-level block")
	FactoryC = factory("c", "DyGMamba selecting each channel's history by itself, without temporal patterns")
	FactoryD = factory("d", "DyGMamba selecting each channel's history by the opposite node, without temporal patterns")
	FactoryE = factory("e", "DyGMamba without time features of neighbours")
	FactoryF = factory("f", "DyGMamba without interaction frequencies")
)

func factory(variant, summary string) model.Factory {
	c := Default
	c.Variant = variant
	presets, prefer := ofVariant(variant)
	return model.Make(model.Kind[Config]{
		Title:   "DyGMamba",
		Summary: summary, Default: c, Presets: presets, Prefer: prefer, Shapes: fromTensors,
		Imported: func(c *Config) { c.ExactTimes = true },
		Fit:      func(c *Config, data model.Data) { c.Kinds, c.KindCounts = data.Kinds, data.Kinds > 1 },
		Lighter:  "a shorter max_input_sequence_length, a larger patch_size or a smaller channel_embedding_dim",
		Declare:  declare,
	})
}

// Model is DyGMamba on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	cfg   Config
	input input

	time     nn.TimeEncoder
	channels []sequence.Channel
	reduce   nn.Linear

	nodes sequence.Block // its norms and feed-forwards are the same for all layers in the released program

	toGaps  nn.Linear
	timeSSM []sequence.Layer

	selection             sequence.Selection
	channelwise           nn.Linear // variants c and d
	output, outputPattern nn.Linear

	histories []sequence.History // of the sides of the batch at hand
}

// declare names the parameters as the released program's checkpoints do, in their order.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("0")
	width, g, inputs := c.Width(), c.TimeWidth(), 2*c.NodeDim

	m.time = nn.NewTimeEncoder(s.In("time_encoder"), c.TimeDim)
	m.input.Often = new(sequence.Counts)
	if c.counts() {
		m.input.Often = sequence.NewCounts(s.In("neighbor_co_occurrence_encoder.nif_encode_layer"), c.Channel)
	}
	m.declareChannels(s.In("projection_layer"))
	m.output = nn.NewLinear(s.In("output_layer"), width, c.NodeDim)
	if c.pattern() {
		m.outputPattern = nn.NewLinear(s.In("output_layer_t_diff"), g, c.NodeDim)
		inputs += c.NodeDim
	}
	if c.ssm() {
		m.nodes.Layers = m.declareSSM(s, "mamba", width)
	}
	if c.pattern() {
		m.timeSSM = m.declareSSM(s, "mamba_t_diff", g)
		m.toGaps = nn.NewLinear(s.In("projection_layer_t_diff"), c.TimeDim, g)
		m.selection.Pattern = nn.NewLinear(s.In("projection_layer_t_diff_up"), g, width)
		m.selection.Aggregate = nn.NewLinear(s.In("weightagg"), width, 1)
	}
	if c.Arch == Released {
		m.reduce = nn.NewLinear(s.In("reduce_layer"), len(m.channels)*c.Channel, width)
	}
	m.declareFeedForward(s, width)
	if c.pattern() {
		m.selection.Opposite = nn.NewLinear(s.In("neighbor_selection_layer"), width, width)
	}
	if c.Variant == "c" || c.Variant == "d" {
		m.channelwise = nn.NewLinear(s.In("selection_layer"), width, width)
	}
	m.MergeHeadOf(inputs, c.NodeDim, c.TellsKinds(), c.KindCounts)
	m.FreezeTime(c.FreezeTime)
	return m
}

func (m *Model) declareSSM(s nn.Scope, name string, width int) []sequence.Layer {
	layers := make([]sequence.Layer, m.cfg.Layers)
	for l := range layers {
		in := s.In(name).In(fmt.Sprint(l))
		if m.cfg.Arch == Paper {
			layers[l] = nn.NewS6(in, width, nn.StateDim)
		} else {
			layers[l] = nn.NewMamba(in, width, nn.StateDim, nn.ConvWidth)
		}
	}
	return layers
}

// declareFeedForward adds what follows the state space layers: shared by all of them in the released program, one each
// in the paper.
func (m *Model) declareFeedForward(s nn.Scope, width int) {
	norms, feeds := s.In("channel_norm"), s.In("channel_feedforward")
	add := func(norm, feed nn.Scope) (nn.LayerNorm, *nn.FeedForward) {
		n := nn.NewLayerNorm(norm, width)
		f := nn.NewFeedForward(feed, "ffn.0", "ffn.3", width, 4*width, width, device.GELU, float32(m.cfg.Dropout))
		return n, &f
	}
	norm, feed := nn.LayerNorm{}, (*nn.FeedForward)(nil)
	for l := range m.cfg.Layers {
		switch {
		case m.cfg.Arch == Paper:
			norm, feed = add(norms.In(fmt.Sprint(l)), feeds.In(fmt.Sprint(l)))
		case l == 0:
			norm, feed = add(norms, feeds)
		}
		m.nodes.Norm, m.nodes.Feed = append(m.nodes.Norm, norm), append(m.nodes.Feed, feed)
	}
}

// Open uploads what is the same for all batches.
func (m *Model) Open(env model.Env) error { return m.input.open(env, m.cfg) }

// Plan asks for the latest neighbours of both nodes, how often they occur, and the pair's own gaps.
func (m *Model) Plan() sample.Plan { return m.WithTimeline(m.WithTally(m.cfg.Plan())) }

// Shape tells steps apart between which a table of features has moved.
func (m *Model) Shape(*sample.Batch) uint64 { return m.input.Moves() }

// Close gives the weights' and the features' memory back.
func (m *Model) Close() {
	m.Base.Close()
	m.input.Tables.Close()
}

// Embed describes both nodes, seen from each other and from the query's time, and the pair's temporal pattern.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	e, _ := m.forward(tp, b)
	e.Kind = m.KindsAsked(tp, b)
	return e
}

// forward computes a batch: its embeddings, and how much each patch counts, for each of the input's sides; no weights
// where channels differ or none is preferred.
func (m *Model) forward(tp *grad.Tape, b *sample.Batch) (model.Embedding, []*tensor.Tensor) {
	n := len(b.Queries)
	m.input.load(tp, b)
	m.histories = m.histories[:0]
	for i := range m.input.sides {
		s := &m.input.sides[i]
		h := m.nodeLevel(tp, s, m.encode(tp, s)) // [rows, P, D]
		m.histories = append(m.histories, sequence.History{Tensor: h, Some: s.some})
	}
	if !m.cfg.pattern() {
		return m.withoutPattern(tp, n), nil
	}
	pattern := m.timeLevel(tp)                                 // [n, g]
	nodes := m.selection.Choose(tp, m.histories, pattern)      // [2n, D]
	src, dst := grad.Split(tp, m.output.Forward(tp, nodes), n) // [n, NodeDim] each
	gaps := m.outputPattern.Forward(tp, pattern)               // [n, NodeDim]
	return model.Embedding{Src: src, Dst: dst, Pair: gaps}, m.selection.Weights
}

// nodeLevel lets every history learn from its order.
func (m *Model) nodeLevel(tp *grad.Tape, s *side, h *tensor.Tensor) *tensor.Tensor {
	if m.cfg.Arch == Paper {
		return m.nodeLevelPaper(tp, s, h)
	}
	return m.nodes.Forward(tp, h) // [rows, P, D]
}

// timeLevel reads the pair's gaps, also those that stand for "never before".
func (m *Model) timeLevel(tp *grad.Tape) *tensor.Tensor {
	code := m.timeCode(tp, m.input.gaps, device.Ints{})             // [n, k, TimeDim]
	return sequence.Mean(tp, m.timeSSM, m.toGaps.Forward(tp, code)) // [n, g]
}

// withoutPattern is the end of variants a, c and d, which have no time-level block.
func (m *Model) withoutPattern(tp *grad.Tape, n int) model.Embedding {
	pooled := sequence.Describe(tp, m.histories, func(i int) *tensor.Tensor {
		return m.pool(tp, m.histories[i].Tensor)
	}) // [2n, D]
	src, dst := grad.Split(tp, m.output.Forward(tp, pooled), n) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst}
}

// pool makes one vector of a history: its mean (a), or a sum with weights that each channel finds in its own history
// (c) or in that of the opposite node (d).
func (m *Model) pool(tp *grad.Tape, h *tensor.Tensor) *tensor.Tensor {
	if m.cfg.Variant == "a" {
		return grad.MeanSteps(tp, h) // [rows, D]
	}
	score := m.channelwise.Forward(tp, h) // [rows, P, D]
	if m.cfg.Variant == "d" {
		score = sequence.Swap(tp, score) // its sides are always one
	}
	// A softmax over each channel's patches.
	beta := grad.Softmax(tp, grad.Transpose(tp, score), device.Ints{}, 0) // [rows, D, P]
	chosen := grad.Mul(tp, grad.Transpose(tp, beta), h)                   // [rows, P, D]
	return grad.Scale(tp, grad.MeanSteps(tp, chosen), float32(h.Dim(1)))  // [rows, D]
}
