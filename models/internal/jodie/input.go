package jodie

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// input is what is uploaded of n queries: sources first, then destinations. Its host slices are used again by the next
// batch.
type input struct {
	slots device.Ints    // [2n] among the batch's distinct nodes
	times *tensor.Tensor // [2n, 2] see messages.Memory.AppendTime
	mean  *tensor.Tensor // [2n, 1] the usual wait
	scale *tensor.Tensor // [2n, 1] 1 / its standard deviation

	hostSlots                      []int32
	hostTimes, hostMean, hostScale []float32
}

func (in *input) load(tp *grad.Tape, m *Model, b *sample.Batch) {
	n := len(b.Queries)
	in.hostSlots = append(append(in.hostSlots[:0], b.Distinct.Src...), b.Distinct.Dst...)
	in.hostTimes, in.hostMean, in.hostScale = in.hostTimes[:0], in.hostMean[:0], in.hostScale[:0]
	for side := range 2 {
		for _, q := range b.Queries {
			in.hostTimes = m.Memory.AppendTime(in.hostTimes, q.Time)
			in.hostMean = append(in.hostMean, m.shifts[2*side])
			in.hostScale = append(in.hostScale, m.shifts[2*side+1])
		}
	}
	in.slots = tp.Ints(in.hostSlots)
	in.times = tp.Floats(in.hostTimes, 2*n, 2)
	in.mean = tp.Floats(in.hostMean, 2*n, 1)
	in.scale = tp.Floats(in.hostScale, 2*n, 1)
}
