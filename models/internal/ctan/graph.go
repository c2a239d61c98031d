package ctan

import (
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// graph is the part of the graph of latest events that can reach a batch's nodes within the model's steps. Its slices
// are used again.
type graph struct {
	nodes  []int32 // V: in the order in which they are reached, the queries' own first
	inner  int     // the first this many have their neighbours: not those that only the last step reaches
	place  []int32 // by node: 1 + where it stands among nodes, 0 for all others
	queued []int32 // the queries' nodes, source and destination in turn, that this is the graph of
	age    int     // of the ring that it was found in
}

// around finds the graph around a batch's queries: in each of this many rounds the neighbours of all nodes join them.
// The last round's are there to be heard, and hear nobody.
func (g *graph) around(b *sample.Batch, r *ring, rounds int) {
	if g.isOf(b, r) {
		return
	}
	for _, n := range g.nodes {
		g.place[n] = 0
	}
	g.nodes, g.queued, g.age = g.nodes[:0], g.queued[:0], r.age
	for _, q := range b.Queries {
		g.queued = append(g.queued, q.Src, q.Dst)
		g.add(q.Src)
		g.add(q.Dst)
	}
	for lo := 0; rounds > 0; rounds-- {
		hi := len(g.nodes)
		for i := lo; i < hi; i++ {
			for _, l := range r.of(g.nodes[i]) {
				if l.node == 0 {
					break
				}
				g.add(l.node)
			}
		}
		lo, g.inner = hi, hi
	}
}

// isOf says whether this is the graph around the batch's queries already: a step's shape is asked for before the step.
func (g *graph) isOf(b *sample.Batch, r *ring) bool {
	if g.age != r.age || len(g.queued) != 2*len(b.Queries) {
		return false
	}
	for i, q := range b.Queries {
		if g.queued[2*i] != q.Src || g.queued[2*i+1] != q.Dst {
			return false
		}
	}
	return true
}

func (g *graph) add(n int32) {
	if missing := int(n) + 1 - len(g.place); missing > 0 {
		g.place = append(g.place, make([]int32, missing)...)
	}
	if g.place[n] == 0 {
		g.nodes = append(g.nodes, n)
		g.place[n] = int32(len(g.nodes))
	}
}

// rows is V as the device sees it: a multiple of what batches of distinct nodes are a multiple of, so that there are
// few sizes.
func (g *graph) rows() int {
	const m = sample.DistinctMultiple
	return max(m, (len(g.nodes)+m-1)/m*m)
}

// look finds the graph around a batch.
func (m *Model) look(b *sample.Batch) *graph {
	m.graph.around(b, &m.ring, m.cfg.Iters)
	return &m.graph
}

// input brings a graph to the device before anything is computed. Its host slices are used again by the next batch.
type input struct {
	nodes     device.Ints    // [V]: rows of the memory; −1 beyond the last, and of nodes that are newer than it
	features  device.Ints    // [V]: rows of the node features
	neighbors device.Ints    // [V·K]: places among the nodes; −1 for none
	edges     device.Ints    // [V·K]: rows of the event features
	mask      device.Ints    // [V·K]: 0 for none
	delta     *tensor.Tensor // [V·K]: time shifts, normalised
	src, dst  device.Ints    // [n]: places of the queries' nodes

	host struct {
		nodes, neighbors, edges, mask, src, dst []int32
		delta                                   []float32
	}
}

// load uploads the graph.
func (m *Model) load(tp *grad.Tape, g *graph) *input {
	in, h := &m.input, &m.input.host
	rows, each := g.rows(), m.ring.each
	h.nodes = fill(h.nodes, rows, -1)
	for i, n := range g.nodes {
		if int(n) < m.state.Rows() {
			h.nodes[i] = n
		}
	}
	h.neighbors, h.edges = fill(h.neighbors, rows*each, -1), fill(h.edges, rows*each, -1)
	h.mask, h.delta = fill(h.mask, rows*each, 0), fill(h.delta, rows*each, 0)
	for i, n := range g.nodes[:g.inner] {
		for j, l := range m.ring.of(n) {
			if l.node == 0 {
				break
			}
			at := i*each + j
			h.neighbors[at], h.edges[at], h.mask[at] = g.place[l.node]-1, l.edge, 1
			h.delta[at] = m.shift.normal(m.ring.last[l.node] - l.time)
		}
	}
	h.src, h.dst = h.src[:0], h.dst[:0]
	for i := 0; i < len(g.queued); i += 2 {
		h.src, h.dst = append(h.src, g.place[g.queued[i]]-1), append(h.dst, g.place[g.queued[i+1]]-1)
	}
	in.nodes, in.neighbors, in.mask = tp.Ints(h.nodes), tp.Ints(h.neighbors), tp.Ints(h.mask)
	in.features, in.edges = m.Node.Load(tp, h.nodes), m.Edge.Load(tp, h.edges)
	in.delta = tp.Floats(h.delta, len(h.delta))
	in.src, in.dst = tp.Ints(h.src), tp.Ints(h.dst)
	return in
}

// fill is s with n times x.
func fill[T int32 | float32](s []T, n int, x T) []T {
	s = slices.Grow(s[:0], n)[:n]
	for i := range s {
		s[i] = x
	}
	return s
}
