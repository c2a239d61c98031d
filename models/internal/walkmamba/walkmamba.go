// Package walkmamba is a model that sees who and when: DyGMamba's two state space blocks, and beside the histories what
// package walk knows of them.
//
// A node-level block reads what each of the two nodes did before, in logarithms of time, with the direction of every
// event and how its neighbour is connected to the two nodes by walks back in time. A time-level block reads the gaps
// between the pair's own meetings and decides which of the nodes' past counts. At the head stand, beside both, how the
// two nodes are connected to each other, behind a gate, how often and how lately each of them, and the pair in either
// direction, was active, and how often sources met the destination after what the source did last; if asked for, also
// whether it is time for the pair to meet again. Each part can be left out by a setting.
package walkmamba

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/walk"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Factory builds the model.
var Factory = model.Make(model.Kind[Config]{
	Title:   "WalkMamba",
	Summary: "state space models over histories, walks, roles and directions (WalkMamba)",
	Default: Default, Presets: presets, Prefer: preferred, Shapes: fromTensors,
	Fit: func(c *Config, data model.Data) {
		c.Span, c.Kinds, c.KindCounts = data.Span, data.Kinds, data.Kinds > 1
	},
	Bound:   bound,
	Lighter: "a shorter max_input_sequence_length, a larger patch_size or a smaller channel_embedding_dim",
	Declare: declare,
})

// Model is the model on a device. One goroutine at a time may use it.
type Model struct {
	model.Base
	cfg   Config
	input input
	walks *extra

	time      nn.TimeEncoder
	channels  []sequence.Channel
	direction nn.Linear // joins the channel of walks
	reduce    nn.Linear

	nodes sequence.Block // one norm and one feed-forward for all layers

	toGaps  nn.Linear
	timeSSM []sequence.Layer

	selection             sequence.Selection
	output, outputPattern nn.Linear

	gate                    nn.Linear // of the walks between the two nodes
	outputWalks, outputRole nn.Linear
	outputNextItem          nn.Linear
	outputPeriodicity       nn.Linear

	histories [1]sequence.History // of the batch at hand
}

var (
	_ model.Shaper  = (*Model)(nil)
	_ model.Sized   = (*Model)(nil)
	_ model.Weigher = (*Model)(nil)
)

// Numbers that a position, and a pair, get from walks.
const (
	walkProducts = walk.Scales * (walk.Levels + 1) * 2 * (walk.Levels + 1)
	walkPairs    = walk.Scales * (walk.Levels + 1) * (2*(walk.Levels+1) + 1)
)

// declare names the parameters.
func declare(c Config, seed uint64) model.Declared {
	m := &Model{cfg: c, Base: model.NewBase(seed)}
	s := m.Params().In("0")
	width, g := c.Width(), c.TimeWidth()

	m.time = m.declareTime(s.In("time_encoder"))
	m.input.Often = sequence.NewCounts(s.In("neighbor_co_occurrence_encoder.nif_encode_layer"), c.Channel)
	m.declareChannels(s.In("projection_layer"))
	m.reduce = nn.NewLinear(s.In("reduce_layer"), len(m.channels)*c.Channel, width)
	if c.NodeBlock {
		m.nodes.Layers = m.declareSSM(s.In("mamba"), width)
	}
	m.nodes.ShareFeedForward(s, c.Layers, width, c.Dropout)
	m.selection.Aggregate = nn.NewLinear(s.In("weightagg"), width, 1)
	m.selection.Opposite = nn.NewLinear(s.In("neighbor_selection_layer"), width, width)
	m.output = nn.NewLinear(s.In("output_layer"), width, c.NodeDim)
	known := 0 // of the pair, beside walks
	if c.TimeBlock {
		m.toGaps = nn.NewLinear(s.In("projection_layer_t_diff"), c.TimeDim, g)
		m.timeSSM = m.declareSSM(s.In("mamba_t_diff"), g)
		m.selection.Pattern = nn.NewLinear(s.In("projection_layer_t_diff_up"), g, width)
		m.outputPattern = nn.NewLinear(s.In("output_layer_t_diff"), g, c.NodeDim)
		known += g
	}
	if c.NextItem {
		m.outputNextItem = nn.NewLinear(s.In("output_layer_sequels"), walk.NextItems, c.NodeDim)
	}
	if c.Periodicity {
		m.outputPeriodicity = nn.NewLinear(s.In("output_layer_returns"), c.Meetings, c.NodeDim)
	}
	if c.Roles {
		m.outputRole = nn.NewLinear(s.In("output_layer_roles"), walk.Roles, c.NodeDim)
		known += walk.Roles
	}
	if c.Pair {
		m.outputWalks = nn.NewLinear(s.In("output_layer_walks"), walkPairs, c.NodeDim)
		if known > 0 {
			m.gate = nn.NewLinear(s.In("walk_gate"), known, walkPairs)
		}
	}
	inputs := 2 * c.NodeDim
	if m.hasPair() {
		inputs += c.NodeDim
	}
	m.MergeHeadOf(inputs, c.NodeDim, c.TellsKinds(), c.KindCounts)
	return m
}

func (m *Model) declareTime(s nn.Scope) nn.TimeEncoder {
	if m.cfg.LogTime {
		return nn.NewLogTimeEncoder(s, m.cfg.TimeDim)
	}
	return nn.NewTimeEncoder(s, m.cfg.TimeDim)
}

func (m *Model) declareSSM(s nn.Scope, width int) []sequence.Layer {
	layers := make([]sequence.Layer, m.cfg.Layers)
	for l := range layers {
		layers[l] = nn.NewMamba(s.In(fmt.Sprint(l)), width, nn.StateDim, nn.ConvWidth)
	}
	return layers
}

// hasPair says whether anything is known of the two nodes together.
func (m *Model) hasPair() bool {
	return m.cfg.TimeBlock || m.cfg.Pair || m.cfg.Roles || m.cfg.NextItem || m.cfg.Periodicity
}

// Open uploads what is the same for all batches.
func (m *Model) Open(env model.Env) error {
	c := m.cfg
	key := statesKey{c.WalkDim, c.WalkSeed, c.Span, c.NextItem, c.Memory}
	shared := model.Share(env.Shared, key, func() *states { return new(states) })
	m.walks = &extra{
		states: shared, options: c.options(env), nodes: c.walks(), neighbors: c.Neighbors, direction: c.Direction,
		roles: c.Roles, nextItem: c.NextItem, batch: c.Update == ByBatch,
	}
	return m.input.open(env, c)
}

// statesKey is what walk states depend on beside the events and the names of nodes.
type statesKey struct {
	dim, seed int
	span      float64
	follow    bool
	memory    int
}

// Plan asks for the latest neighbours of both nodes, how often they occur, the pair's own gaps, and walks.
func (m *Model) Plan() sample.Plan {
	p := m.cfg.plan()
	if m.cfg.asksWalks() {
		p.Extras = []sample.Extra{m.walks}
	}
	return m.WithTimeline(m.WithTally(p))
}

// Shape tells steps apart between which a table has moved, or that upload another number of walk vectors.
func (m *Model) Shape(b *sample.Batch) uint64 { return m.input.shape(b) }

// Widths is that of a node's embedding, and whether there is one of the pair.
func (m *Model) Widths() (node int, pair bool) { return m.cfg.NodeDim, m.hasPair() }

// Close gives the weights' and the features' memory back.
func (m *Model) Close() {
	m.Base.Close()
	m.input.close()
}

// Embed describes both nodes, seen from each other and from the query's time, and the pair.
func (m *Model) Embed(tp *grad.Tape, b *sample.Batch) model.Embedding {
	m.input.load(tp, b, false)
	return m.forward(tp, b)
}

// Weigh gives the weights that the opposite node and the pair's pattern give to the patches of a history.
func (m *Model) Weigh(tp *grad.Tape, b *sample.Batch) (model.Embedding, []*tensor.Tensor) {
	e := m.Embed(tp, b)
	src, dst := grad.Split(tp, m.selection.Weights[0], len(b.Queries)) // [n, P] each
	return e, []*tensor.Tensor{src, dst}
}

// forward computes the batch that is loaded.
func (m *Model) forward(tp *grad.Tape, b *sample.Batch) model.Embedding {
	h := m.nodes.Forward(tp, m.encode(tp)) // [rows, P, D]
	if m.input.rowsOf.Len > 0 {
		h = sequence.Repeat(tp, h, m.input.rowsOf) // [2n, P, D]
	}
	var pattern *tensor.Tensor
	if m.cfg.TimeBlock {
		pattern = m.timeLevel(tp) // [n, g]
	}
	m.histories[0] = sequence.History{Tensor: h}
	nodes := m.selection.Choose(tp, m.histories[:], pattern)                // [2n, D]
	src, dst := grad.Split(tp, m.output.Forward(tp, nodes), len(b.Queries)) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst, Pair: m.pair(tp, pattern), Kind: m.KindsAsked(tp, b)}
}

// timeLevel reads the pair's gaps, also those that stand for "never before".
func (m *Model) timeLevel(tp *grad.Tape) *tensor.Tensor {
	code := m.time.Forward(tp, m.input.gaps, device.Ints{})             // [n, k, TimeDim]
	pattern := sequence.Mean(tp, m.timeSSM, m.toGaps.Forward(tp, code)) // [n, g]
	if m.input.gapsOf.Len > 0 {
		pattern = sequence.Repeat(tp, pattern, m.input.gapsOf)
	}
	return pattern
}

// pair describes the two nodes together, [n, NodeDim]: their pattern, their roles, and how walks connect them, as far
// as pattern and roles let that through; nil where none of it is looked at.
func (m *Model) pair(tp *grad.Tape, pattern *tensor.Tensor) *tensor.Tensor {
	var sum *tensor.Tensor
	add := func(x *tensor.Tensor) {
		if sum == nil {
			sum = x
		} else {
			sum = grad.Add(tp, sum, x)
		}
	}
	var list [2]*tensor.Tensor
	known := list[:0]
	if pattern != nil {
		add(m.outputPattern.Forward(tp, pattern))
		known = append(known, pattern)
	}
	if m.cfg.Roles {
		add(m.outputRole.Forward(tp, m.input.roles))
		known = append(known, m.input.roles)
	}
	if m.cfg.NextItem {
		add(m.outputNextItem.Forward(tp, m.input.nextItem))
	}
	if m.cfg.Periodicity {
		add(m.outputPeriodicity.Forward(tp, m.input.periodicity))
	}
	if m.cfg.Pair {
		g := m.input.pairs // [n, walkPairs]
		if len(known) > 0 {
			g = grad.Mul(tp, m.gate.Join(tp, device.Sigmoid, known...), g)
		}
		add(m.outputWalks.Forward(tp, g))
	}
	return sum
}
