package tcl

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// input is a batch on the device, uploaded before anything is computed: sources' sequences first, then destinations'.
// Its host slices are used again by the next batch.
type input struct {
	hostDelta []float32
	hostMask  []int32
	hostFirst []int32

	rows         int            // 2n
	delta        *tensor.Tensor // [2n·len]: how long ago
	nodes, edges device.Ints    // [2n·len]: rows of features
	mask         device.Ints    // [2n·len]: 0 at padding
	otherMask    device.Ints    // the same of the opposite sequences
	first        device.Ints    // [2n]: where sequences begin
}

func (in *input) load(m *Model, tp *grad.Tape, b *sample.Batch) {
	src, dst := &b.Rows[0], &b.Rows[1]
	in.rows = 2 * len(b.Queries)
	in.hostDelta = append(append(in.hostDelta[:0], src.Delta...), dst.Delta...)
	in.hostMask = append(append(in.hostMask[:0], src.Node...), dst.Node...)
	in.hostFirst = in.hostFirst[:0]
	for at := 0; at < len(in.hostDelta); at += src.Len {
		in.hostDelta[at] = 0 // whatever rounding makes of it elsewhere
		in.hostMask[at] = 1  // a key that every query has
		in.hostFirst = append(in.hostFirst, int32(at))
	}
	in.delta = tp.Floats(in.hostDelta, len(in.hostDelta))
	in.first = tp.Ints(in.hostFirst)
	in.mask = tp.Ints(in.hostMask)
	half := len(in.hostMask) / 2
	in.hostMask = append(in.hostMask, in.hostMask[:half]...)
	in.otherMask = tp.Ints(in.hostMask[half:])
	in.nodes = m.Node.Load(tp, src.Described(), dst.Described())
	in.edges = m.Edge.Load(tp, src.Edge, dst.Edge)
}
