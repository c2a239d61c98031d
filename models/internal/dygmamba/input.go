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
}

// side is histories of which all have the same length: n rows, or 2n, sources, then destinations.
type side struct {
	sequence.Positions
	steps *tensor.Tensor // [rows, P, 1]: 1 where a patch holds anything; Paper only
	some  device.Ints    // the same as integers
}

// open uploads what is the same for all batches.
func (in *input) open(env model.Env, c Config) error {
	in.cfg = c
	plan := c.Plan()
	return in.Tables.Open(env, c.NodeDim, c.EdgeDim, c.TellsKinds(), plan.Longest())
}

// load uploads a batch.
func (in *input) load(tp *grad.Tape, b *sample.Batch) {
	n, src, dst := len(b.Queries), &b.Rows[0], &b.Rows[1]
	in.Often.Begin()
	if in.cfg.pattern() {
		in.gaps = tp.Floats(b.Gaps, n, in.cfg.Meetings)
	}
	in.sides = in.sides[:0]
	if src.Len == dst.Len {
		in.sides = append(in.sides, in.side(tp, src, dst))
		return
	}
	in.sides = append(in.sides, in.side(tp, src, &sample.Rows{}), in.side(tp, dst, &sample.Rows{}))
}

// side uploads rows of the same length, those of a before those of b, and for the paper's equations which patches hold
// anything: their sequences have no padding.
func (in *input) side(tp *grad.Tape, a, b *sample.Rows) side {
	s := side{Positions: in.Load(tp, a, b, in.cfg.Patch)}
	if in.cfg.Arch != Paper {
		return s
	}
	in.ids = append(append(in.ids[:0], a.Node...), b.Node...)
	in.floats = in.floats[:0]
	some := in.ids[:0]                                                       // never overtakes what is still to be read
	for last := in.cfg.Patch - 1; last < len(in.ids); last += in.cfg.Patch { // padding is on the left
		holds := min(in.ids[last], 1)
		in.floats, some = append(in.floats, float32(holds)), append(some, holds)
	}
	s.steps = tp.Floats(in.floats, s.Rows, s.Patches, 1)
	s.some = tp.Ints(some)
	return s
}
