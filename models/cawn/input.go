package cawn

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// input is a batch on the device, uploaded before anything is computed. Its steps are those of all walks, each once,
// level by level: the queries' nodes themselves, then whom they met, then whom those had met. On each level the
// sources' come first, and what goes on from one step stands together. Host slices are used again by the next batch.
type input struct {
	cfg        Config
	hostNodes  []int32      // [steps]: 0 at padding
	hostEdges  []int32      // [steps]
	hostDelta  []float32    // [steps]
	hostParent []int32      // of one level
	hostEnds   []int32      // [2n·walks]
	hostShares [2][]float32 // [steps, Length+1]
	counts     counts

	tree         nn.Tree
	delta        *tensor.Tensor    // [steps]: how long before the query
	nodes, edges device.Ints       // [steps]: rows of features
	shares       [2]*tensor.Tensor // [steps, Length+1]: how often a step's node occurs on each level, of all there
}

// open makes room for what depends on the configuration alone.
func (in *input) open(c Config) {
	in.cfg = c
	in.tree = nn.Tree{Levels: make([]int, c.Length+1), Parents: make([]device.Ints, c.Length)}
}

func (in *input) load(m *Model, tp *grad.Tape, b *sample.Batch) {
	in.begin(b)
	for hop := range in.cfg.Length {
		in.grow(tp, b, hop)
	}
	in.nodes, in.edges = m.node.Load(tp, in.hostNodes), m.edge.Load(tp, in.hostEdges)
	in.delta = tp.Floats(in.hostDelta, len(in.hostDelta))
	in.end()
	in.tree.Ends = tp.Ints(in.hostEnds)
	in.count(b)
	for side := range in.shares {
		in.shares[side] = tp.Floats(in.hostShares[side], len(in.hostNodes), in.cfg.Length+1)
	}
}

// begin puts down the first steps.
func (in *input) begin(b *sample.Batch) {
	in.hostNodes, in.hostEdges, in.hostDelta = in.hostNodes[:0], in.hostEdges[:0], in.hostDelta[:0]
	for _, q := range b.Queries {
		in.hostNodes = append(in.hostNodes, q.Src)
	}
	for _, q := range b.Queries {
		in.hostNodes = append(in.hostNodes, q.Dst)
	}
	for range in.hostNodes {
		in.hostEdges, in.hostDelta = append(in.hostEdges, -1), append(in.hostDelta, 0)
	}
	in.tree.Levels[0] = len(in.hostNodes)
}

// grow puts down the steps that go on from those of the last level.
func (in *input) grow(tp *grad.Tape, b *sample.Batch, hop int) {
	last := len(in.hostNodes) - in.tree.Levels[hop] // where the level before begins
	for _, r := range []*sample.Rows{&b.Rows[hop], &b.Rows[in.cfg.Length+hop]} {
		in.hostNodes, in.hostEdges = append(in.hostNodes, r.Node...), append(in.hostEdges, r.Edge...)
		if hop == 0 {
			in.hostDelta = append(in.hostDelta, r.Delta...)
		} else {
			in.since(b, r, last)
			last += len(r.Node) / r.Len
		}
	}
	n := in.cfg.Neighbors * in.tree.Levels[hop]
	in.tree.Levels[hop+1] = n
	in.hostParent = in.hostParent[:0]
	for i := range n {
		in.hostParent = append(in.hostParent, int32(i/in.cfg.Neighbors))
	}
	in.tree.Parents[hop] = tp.Ints(in.hostParent)
}

// since appends how long before the query the steps of a later hop were. Their rows tell how long before the step they
// go on from; the first of those is number from.
func (in *input) since(b *sample.Batch, r *sample.Rows, from int) {
	each := len(r.Time) / max(1, len(b.Queries))
	for i, at := range r.Time {
		if in.cfg.ExactTimes {
			in.hostDelta = append(in.hostDelta, in.hostDelta[from+i/r.Len]+r.Delta[i])
		} else {
			in.hostDelta = append(in.hostDelta, float32(b.Queries[i/each].Time-float64(at)))
		}
	}
}

// end finds the last step of every walk that is no padding. Nothing follows padding, and the first steps are none.
func (in *input) end() {
	in.hostEnds = in.hostEnds[:0]
	lo := len(in.hostNodes) - in.tree.Levels[in.cfg.Length]
	for i := range in.tree.Levels[in.cfg.Length] {
		at, level, first := i, in.cfg.Length, lo
		for level > 0 && in.hostNodes[first+at] == 0 {
			level--
			at /= in.cfg.Neighbors
			first -= in.tree.Levels[level]
		}
		in.hostEnds = append(in.hostEnds, int32(first+at))
	}
}
