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
	hostStates []int32      // [steps]: rows of what is known of the nodes
	hostEdges  []int32      // [steps]
	hostDelta  []float32    // [steps]
	hostSteps  []float32    // [steps] from level 1 on: 1 at a step, 0 at padding
	hostGaps   []float32    // [steps] from level 1 on: the other way round
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
	in.tree = nn.Tree{Levels: make([]int, c.Length+1), Fan: c.Neighbors}
	in.tree.Steps, in.tree.Gaps = make([]*tensor.Tensor, c.Length), make([]*tensor.Tensor, c.Length)
}

func (in *input) load(m *Model, tp *grad.Tape, b *sample.Batch) {
	in.begin(b)
	for hop := range in.cfg.Length {
		in.grow(b, hop)
	}
	in.describe(b)
	in.nodes, in.edges = m.Node.Load(tp, in.hostStates), m.Edge.Load(tp, in.hostEdges)
	in.delta = tp.Floats(in.hostDelta, len(in.hostDelta))
	in.mark(tp)
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

// describe lists the rows of what is known of the nodes of all steps, in their order.
func (in *input) describe(b *sample.Batch) {
	n := len(b.Queries)
	in.hostStates = b.AppendDescribed(b.AppendDescribed(in.hostStates[:0], sample.Src, n), sample.Dst, n)
	for hop := range in.cfg.Length {
		in.hostStates = append(in.hostStates, b.Rows[hop].Described()...)
		in.hostStates = append(in.hostStates, b.Rows[in.cfg.Length+hop].Described()...)
	}
}

// grow puts down the steps that go on from those of the last level.
func (in *input) grow(b *sample.Batch, hop int) {
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
	in.tree.Levels[hop+1] = in.cfg.Neighbors * in.tree.Levels[hop]
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

// mark tells steps from padding.
func (in *input) mark(tp *grad.Tape) {
	in.hostSteps, in.hostGaps = in.hostSteps[:0], in.hostGaps[:0]
	for _, node := range in.hostNodes[in.tree.Levels[0]:] {
		step := float32(min(node, 1))
		in.hostSteps, in.hostGaps = append(in.hostSteps, step), append(in.hostGaps, 1-step)
	}
	lo := 0
	for hop := range in.cfg.Length {
		before, n := in.tree.Levels[hop], in.tree.Levels[hop+1]
		in.tree.Steps[hop] = tp.Floats(in.hostSteps[lo:lo+n], before, in.cfg.Neighbors)
		in.tree.Gaps[hop] = tp.Floats(in.hostGaps[lo:lo+n], before, in.cfg.Neighbors)
		lo += n
	}
}
