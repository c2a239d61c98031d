package graphmixer

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// input is a batch on the device, uploaded before anything is computed: sources' rows first, then destinations'. Its
// host slices are used again by the next batch.
type input struct {
	hostDelta []float32
	hostNodes []int32
	hostMet   []int32
	hostShare []float32

	rows    int            // 2n
	delta   *tensor.Tensor // [2n·K]: how long ago
	present device.Ints    // [2n·K]: 0 at padding
	edges   device.Ints    // [2n·K]: rows of event features

	// Only where there are node features.
	own   device.Ints    // [2n]: their rows of the queries' nodes
	met   device.Ints    // [2n·G]: and of the neighbours that count; −1 for the others
	share *tensor.Tensor // [2n, 1]: what each of them counts
}

func (in *input) load(m *Model, tp *grad.Tape, b *sample.Batch) {
	src, dst := &b.Rows[0], &b.Rows[len(b.Rows)/2]
	in.rows = 2 * len(b.Queries)
	in.hostDelta = append(append(in.hostDelta[:0], src.Delta...), dst.Delta...)
	in.delta = tp.Floats(in.hostDelta, len(in.hostDelta))
	in.hostNodes = append(append(in.hostNodes[:0], src.Node...), dst.Node...)
	in.present = tp.Ints(in.hostNodes)
	in.edges = m.Edge.Load(tp, src.Edge, dst.Edge)
	if m.Node.Empty() {
		return
	}
	n := len(b.Queries)
	in.hostNodes = b.AppendDescribed(b.AppendDescribed(in.hostNodes[:0], sample.Src, n), sample.Dst, n)
	in.own = m.Node.Load(tp, in.hostNodes)
	in.hostMet, in.hostShare = in.hostMet[:0], in.hostShare[:0]
	in.meet(&m.cfg, &b.Rows[1])
	in.meet(&m.cfg, &b.Rows[3])
	in.met = m.Node.Load(tp, in.hostMet)
	in.share = tp.Floats(in.hostShare, in.rows, 1)
}

// meet notes which neighbours of a draw count for the mean, and how much: in a span each as much as any other; by count
// the released program divides their mean by the number that was asked for.
func (in *input) meet(c *Config, r *sample.Rows) {
	span, described := c.TimeGapMode == Span, r.Described()
	for lo := 0; lo < len(r.Node); lo += r.Len {
		valid := 0
		for i, node := range r.Node[lo : lo+r.Len] {
			if node == 0 || span && !(float64(r.Delta[lo+i]) < c.TimeGap) {
				in.hostMet = append(in.hostMet, -1)
			} else {
				valid++
				in.hostMet = append(in.hostMet, described[lo+i])
			}
		}
		share := float32(0)
		if valid > 0 {
			share = 1 / float32(valid)
		}
		if !span {
			share /= float32(r.Len)
		}
		in.hostShare = append(in.hostShare, share)
	}
}
