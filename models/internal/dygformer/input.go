package dygformer

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// input brings a batch to the device. The source's row and the destination's stand one after the other: both are whole
// patches, so patches of the joined row are the sequence that the layers read. Host slices are used again by the next
// batch.
type input struct {
	sequence.Tables
	sequence.Positions
	patch int

	ids      []int32
	floats   []float32
	src, dst *tensor.Tensor // [n, P]: one over the number of steps where they are this side's, otherwise 0
}

// open uploads what is the same for all batches.
func (in *input) open(env model.Env, c Config) error {
	in.patch = c.Patch
	return in.Tables.Open(env, c.NodeDim, c.EdgeDim, 0, c.Length)
}

// load uploads a call.
func (in *input) load(tp *grad.Tape, b *sample.Batch) {
	src, dst := &b.Rows[0], &b.Rows[1]
	in.Often.Begin()
	in.Rows = len(b.Queries)
	in.Patches = (src.Len + dst.Len) / in.patch
	in.ids = join(in.ids, in.Rows, src.Node, dst.Node)
	in.Present = tp.Ints(in.ids)
	in.ids = join(in.ids, in.Rows, src.Described(), dst.Described())
	in.Nodes = in.Node.Load(tp, in.ids)
	in.ids = join(in.ids, in.Rows, src.Edge, dst.Edge)
	in.Edges = in.Edge.Load(tp, in.ids)
	in.ids = join(in.ids, in.Rows, src.Count, dst.Count)
	in.Counts = in.Often.Load(tp, in.ids, in.patch)
	in.floats = join(in.floats, in.Rows, src.Delta, dst.Delta)
	in.Delta = tp.Floats(in.floats, len(in.floats))
	in.src = in.mean(tp, 0, src.Len/in.patch)
	in.dst = in.mean(tp, src.Len/in.patch, in.Patches)
}

// join puts the rows of both sides side by side: [n, a], [n, b] → [n, a+b].
func join[T any](to []T, n int, src, dst []T) []T {
	to = to[:0]
	for i := range n {
		a, b := len(src)/n, len(dst)/n
		to = append(append(to, src[i*a:(i+1)*a]...), dst[i*b:(i+1)*b]...)
	}
	return to
}

// mean uploads weights that take the mean of the steps lo to hi−1.
func (in *input) mean(tp *grad.Tape, lo, hi int) *tensor.Tensor {
	in.floats = in.floats[:0]
	for range in.Rows {
		for j := range in.Patches {
			w := float32(0)
			if lo <= j && j < hi {
				w = 1 / float32(hi-lo)
			}
			in.floats = append(in.floats, w)
		}
	}
	return tp.Floats(in.floats, in.Rows, in.Patches) // [n, P]
}
