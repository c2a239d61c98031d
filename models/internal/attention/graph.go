package attention

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Graph is layers of temporal attention. One goroutine at a time may use it.
type Graph struct {
	of *model.Base // has the features of the data before the first batch

	cfg    Config
	time   nn.TimeEncoder
	layers []layer

	// Of the batch that was loaded. Both sides are computed as one: sources' rows first, then destinations'.
	roots   nodes
	hops    []hop            // as many as one side has draws
	memory  *tensor.Tensor   // [distinct, node]: what describes nodes beside their features; nil: nothing
	weights []*tensor.Tensor // of each draw of the plan; empty: not asked for
	host    []int32
}

// layer attends, then merges what was found with the node itself.
type layer struct {
	attention *nn.TemporalAttention
	merge     nn.Merge
	parts     [4]grad.Part // of a concatenation that is being put together
}

// New declares the layers under the reference's names: temporal_conv_layers, then merge_layers.
func New(of *model.Base, s nn.Scope, time nn.TimeEncoder, c Config) *Graph {
	g := &Graph{of: of, cfg: c, time: time}
	g.layers, g.hops = make([]layer, c.Layers), make([]hop, count(c.Layers))
	for l := range g.layers {
		in := s.In("temporal_conv_layers").In(fmt.Sprint(l))
		g.layers[l].attention = nn.NewTemporalAttention(in, c.Query(), c.Key(), c.Heads, float32(c.Dropout))
	}
	for l := range g.layers {
		in := s.In("merge_layers").In(fmt.Sprint(l))
		g.layers[l].merge = nn.NewMerge(in, c.Query()+c.NodeDim, c.NodeDim, c.NodeDim)
	}
	return g
}

// Embed describes the nodes of the queries that were loaded, [2n, node]: sources, then destinations. Memory [distinct,
// node] is added to the features of the batch's distinct nodes; TGAT has none.
func (g *Graph) Embed(tp *grad.Tape, memory *tensor.Tensor) *tensor.Tensor {
	g.memory, g.weights = memory, g.weights[:0]
	return g.embed(tp, &g.roots, g.cfg.Layers, 0)
}

// Weigh is Embed, and for each draw of the plan how much its neighbours count, [rows, Neighbors], on the mean over
// heads.
func (g *Graph) Weigh(tp *grad.Tape, memory *tensor.Tensor) (*tensor.Tensor, []*tensor.Tensor) {
	g.memory, g.weights = memory, make([]*tensor.Tensor, 2*len(g.hops))
	z := g.embed(tp, &g.roots, g.cfg.Layers, 0)
	return z, g.weights
}

// embed describes nodes by this many layers; their first draw is number at of a side. See Config.Draws.
func (g *Graph) embed(tp *grad.Tape, of *nodes, layers, at int) *tensor.Tensor {
	self := g.describe(tp, of) // [r, node] or nil
	own := self
	if layers > 1 {
		own = g.embed(tp, of, layers-1, at) // [r, node]
	} else if own == nil {
		own = tp.Zeros(of.count, g.cfg.NodeDim)
	}
	now := g.time.Forward(tp, tp.Zeros(of.count), device.Ints{}) // [r, time]
	query := grad.Concat(tp, own, now)                           // [r, node+time]

	at += count(layers - 1)
	l, h := &g.layers[layers-1], &g.hops[at]
	keys := g.neighbors(tp, l.parts[:0], h, layers-1, at+1) // [r·K, node+edge+time]
	found := g.attend(tp, l, at, query, h, keys)            // [r, node+time]
	both := append(l.parts[:0], grad.Part{X: found})
	if self != nil {
		both = append(both, grad.Part{X: self, Lo: g.cfg.Query()})
	}
	hidden := grad.LinearSum(tp, l.merge.FC1.W, l.merge.FC1.B, device.ReLU, both...) // [r, node]
	return l.merge.FC2.Forward(tp, hidden)                                           // [r, node]
}

// neighbors are the keys of a hop in parts: who was met, by which event, how long ago. What is zero is left out.
func (g *Graph) neighbors(tp *grad.Tape, keys []grad.Part, h *hop, layers, at int) []grad.Part {
	if layers > 0 {
		keys = append(keys, grad.Part{X: g.embed(tp, &h.nodes, layers, at)})
	} else {
		if g.memory != nil {
			keys = append(keys, grad.Part{X: grad.Gather(tp, g.memory, h.slots, 1)})
		}
		keys = g.of.Node.Part(tp, keys, h.rows, 0)
	}
	keys = g.of.Edge.Part(tp, keys, h.edges, g.cfg.NodeDim)
	code := g.time.Forward(tp, h.delta, device.Ints{}) // [r·K, time]
	return append(keys, grad.Part{X: code, Lo: g.cfg.NodeDim + g.cfg.EdgeDim})
}

// attend is a layer's attention to the keys of draw at. If weights are asked for, it notes them.
func (g *Graph) attend(tp *grad.Tape, l *layer, at int, query *tensor.Tensor, h *hop, keys []grad.Part) *tensor.Tensor {
	if len(g.weights) == 0 {
		return l.attention.Forward(tp, query, h.mask, keys...)
	}
	y, weights := l.attention.Weigh(tp, query, h.mask, keys...) // [r, ·], [r, K]
	g.weights[at], g.weights[at+len(g.hops)] = grad.Split(tp, weights, y.Dim(0)/2)
	return y
}

// describe is what is known of nodes before any attention: memory and features, [r, node]. Nil: all of it is zero.
func (g *Graph) describe(tp *grad.Tape, of *nodes) *tensor.Tensor {
	features := g.of.Node.Gather(tp, of.rows, g.cfg.NodeDim)
	if g.memory == nil {
		return features
	}
	x := grad.Gather(tp, g.memory, of.slots, 1)
	if features != nil {
		x = grad.Add(tp, x, features)
	}
	return x
}

// nodes are those that a step describes together.
type nodes struct {
	count int
	rows  device.Ints // [count] of their features
	slots device.Ints // [count] among the batch's distinct nodes, where there is a memory
}

// hop is what a draw of the sources and the same of the destinations gave: count = rows · K neighbours.
type hop struct {
	nodes
	edges device.Ints    // [count] rows of event features
	mask  device.Ints    // [count] 0 at padding
	delta *tensor.Tensor // [count]: how long ago
}

// Load uploads what is known of the first n queries of b, and its plan's draws from the first on.
func (g *Graph) Load(tp *grad.Tape, b *sample.Batch, n int) {
	g.host = g.host[:0]
	g.host = b.AppendDescribed(b.AppendDescribed(g.host, sample.Src, n), sample.Dst, n)
	g.roots.count, g.roots.rows = 2*n, g.of.Node.Load(tp, g.host)
	slots := min(n, len(b.Distinct.Src)) // none where there is no memory
	g.roots.slots = g.join(tp, b.Distinct.Src[:slots], b.Distinct.Dst[:slots])
	for i := range g.hops {
		g.loadHop(tp, &g.hops[i], part(b, i, n), part(b, i+len(g.hops), n))
	}
}

func (g *Graph) loadHop(tp *grad.Tape, h *hop, src, dst sample.Rows) {
	each := len(src.Node)
	h.count, h.rows = 2*each, g.of.Node.Load(tp, src.Described(), dst.Described())
	h.edges = g.of.Edge.Load(tp, src.Edge, dst.Edge)
	h.mask, h.slots = g.mask(tp, src.Node, dst.Node), g.join(tp, src.Slot, dst.Slot)
	h.delta = tp.New(2 * each)
	if each > 0 {
		tp.Device().Write(h.delta.Data.Slice(0, each), src.Delta)
		tp.Device().Write(h.delta.Data.Slice(each, 2*each), dst.Delta)
	}
}

// part is what a draw gave for the first n queries.
func part(b *sample.Batch, draw, n int) sample.Rows {
	r := b.Rows[draw]
	size := len(r.Node) / max(1, len(b.Queries)) * n
	r.Node, r.Edge, r.Delta, r.Slot = r.Node[:size], r.Edge[:size], r.Delta[:size], r.Slot[:min(size, len(r.Slot))]
	r.State = r.State[:min(size, len(r.State))]
	return r
}

// join uploads integers of both sides.
func (g *Graph) join(tp *grad.Tape, src, dst []int32) device.Ints {
	g.host = append(append(g.host[:0], src...), dst...)
	return tp.Ints(g.host)
}

// mask uploads 0 at padding and 1 elsewhere.
func (g *Graph) mask(tp *grad.Tape, src, dst []int32) device.Ints {
	g.host = append(append(g.host[:0], src...), dst...)
	for i, n := range g.host {
		g.host[i] = min(n, 1)
	}
	return tp.Ints(g.host)
}
