package dygmamba

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// input brings a batch to the device before anything is computed. Its host slices are used again by the next batch.
type input struct {
	sequence.Tables
	cfg    Config
	ids    []int32
	floats []float32

	gaps  *tensor.Tensor // [n, k]
	sides []side         // both as one, sources first, where their rows are equally long; otherwise one after the other
	table *tensor.Tensor // [p, c, d]: counts, encoded and projected for each place in a patch; once a side wants them
}

// side is histories of which all have the same length.
type side struct {
	rows    int            // n, or 2n: sources, then destinations
	patches int            // P, of each
	nodes   device.Ints    // [rows·P·p]: rows of the table of features
	edges   device.Ints    // [rows·P·p]
	delta   *tensor.Tensor // [rows·P·p]: how long ago
	present device.Ints    // [rows·P·p]: 0 at padding
	counts  device.Ints    // [rows·P, 2p]: rows of the table of encoded counts
	steps   *tensor.Tensor // [rows, P, 1]: 1 where a patch holds anything; Paper only
	some    device.Ints    // the same as integers
}

// open uploads what is the same for all batches.
func (in *input) open(env model.Env, c Config) error {
	in.cfg = c
	plan := c.Plan()
	return in.Tables.Open(env, c.NodeDim, c.EdgeDim, plan.Longest())
}

// load uploads a batch.
func (in *input) load(tp *grad.Tape, b *sample.Batch) {
	n, src, dst := len(b.Queries), &b.Rows[0], &b.Rows[1]
	in.table = nil
	if in.cfg.pattern() {
		in.gaps = tp.Floats(b.Gaps, n, in.cfg.Meetings)
	}
	in.sides = in.sides[:0]
	if src.Len == dst.Len {
		in.sides = append(in.sides, in.side(tp, 2*n, src, dst))
		return
	}
	in.sides = append(in.sides, in.side(tp, n, src, &sample.Rows{}), in.side(tp, n, dst, &sample.Rows{}))
}

// side uploads rows of the same length, those of a before those of b.
func (in *input) side(tp *grad.Tape, rows int, a, b *sample.Rows) side {
	s := side{rows: rows, patches: a.Len / in.cfg.Patch}
	in.floats = append(append(in.floats[:0], a.Delta...), b.Delta...)
	s.delta = tp.Floats(in.floats, len(in.floats))
	in.ids = append(append(in.ids[:0], a.Node...), b.Node...)
	s.present = tp.Ints(in.ids)
	if in.cfg.Arch == Paper {
		in.loadSteps(tp, &s)
	}
	s.nodes, s.edges = in.Node.Load(tp, a.Node, b.Node), in.Edge.Load(tp, a.Edge, b.Edge)
	in.ids = append(append(in.ids[:0], a.Count...), b.Count...)
	s.counts = in.Often.Load(tp, in.ids, in.cfg.Patch)
	return s
}

// loadSteps uploads which patches hold anything, for the paper's equations: their sequences have no padding.
func (in *input) loadSteps(tp *grad.Tape, s *side) {
	in.floats = in.floats[:0]
	some := in.ids[:0]                                                       // never overtakes what is still to be read
	for last := in.cfg.Patch - 1; last < len(in.ids); last += in.cfg.Patch { // padding is on the left
		holds := min(in.ids[last], 1)
		in.floats, some = append(in.floats, float32(holds)), append(some, holds)
	}
	s.steps = tp.Floats(in.floats, s.rows, s.patches, 1)
	s.some = tp.Ints(some)
}
