package dygformer

import (
	"github.com/dygmamba/dygmamba/device"
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
	patch int

	ids      []int32
	floats   []float32
	queries  int            // n
	steps    int            // P, of both sides together
	nodes    device.Ints    // [n·P·p]: rows of the table of features
	edges    device.Ints    // [n·P·p]
	delta    *tensor.Tensor // [n·P·p]: how long ago
	present  device.Ints    // [n·P·p]: 0 at padding
	counts   device.Ints    // [n·P, 2p]: rows of the table of encoded counts
	src, dst *tensor.Tensor // [n, P]: one over the number of steps where they are this side's, otherwise 0
}

// open uploads what is the same for all batches.
func (in *input) open(env model.Env, c Config) error {
	in.patch = c.Patch
	return in.Tables.Open(env, c.NodeDim, c.EdgeDim, c.Length)
}

// load uploads a call.
func (in *input) load(tp *grad.Tape, b *sample.Batch) {
	src, dst := &b.Rows[0], &b.Rows[1]
	in.queries = len(b.Queries)
	in.steps = (src.Len + dst.Len) / in.patch
	in.ids = join(in.ids, in.queries, src.Node, dst.Node)
	in.nodes, in.present = in.Node.Load(tp, in.ids), tp.Ints(in.ids)
	in.ids = join(in.ids, in.queries, src.Edge, dst.Edge)
	in.edges = in.Edge.Load(tp, in.ids)
	in.ids = join(in.ids, in.queries, src.Count, dst.Count)
	in.counts = in.Often.Load(tp, in.ids, in.patch)
	in.floats = join(in.floats, in.queries, src.Delta, dst.Delta)
	in.delta = tp.Floats(in.floats, len(in.floats))
	in.src = in.mean(tp, 0, src.Len/in.patch)
	in.dst = in.mean(tp, src.Len/in.patch, in.steps)
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
	for range in.queries {
		for j := range in.steps {
			w := float32(0)
			if lo <= j && j < hi {
				w = 1 / float32(hi-lo)
			}
			in.floats = append(in.floats, w)
		}
	}
	return tp.Floats(in.floats, in.queries, in.steps) // [n, P]
}
