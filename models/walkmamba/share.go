package walkmamba

import (
	"math"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/model/sequence"
	"github.com/dygmamba/dygmamba/sample"
)

var _ model.Sharer = (*Model)(nil)

// Share reads each row of gaps once, however many queries have it: pairs that never met are alike. Histories it reads
// once only where walks of neighbours are left out. Otherwise no two are alike: a position of the source's history has
// its products with the candidate's walk vectors too, and those of two candidates differ even if neither has a past.
func (m *Model) Share(tp *grad.Tape, b *sample.Batch) model.Embedding {
	m.input.load(tp, b, true)
	return m.forward(tp, b)
}

// share is what of a batch is to be uploaded where equal rows are uploaded once.
func (in *input) share(tp *grad.Tape, b *sample.Batch) (src, dst *sample.Rows, gaps []float32) {
	src, dst, gaps = &b.Rows[0], &b.Rows[1], b.Gaps
	if in.cfg.TimeBlock {
		kept, of := sequence.DistinctRows(gaps, in.cfg.Meetings)
		gaps, in.gapsOf = kept, tp.Ints(of)
	}
	if in.cfg.Neighbors {
		return src, dst, gaps
	}
	d, kept := sequence.NewDistinct(), &sample.Rows{Len: src.Len}
	for _, r := range []*sample.Rows{src, dst} {
		for lo := 0; lo < len(r.Node); lo += r.Len {
			in.keep(d, kept, r, lo, lo+r.Len)
		}
	}
	in.rowsOf = tp.Ints(d.Of)
	return kept, &sample.Rows{}, gaps
}

// keep keeps a row unless there is an equal one: one in which the model sees no difference.
func (in *input) keep(d *sequence.Distinct, kept, r *sample.Rows, lo, hi int) {
	for i := lo; i < hi; i++ {
		there := uint32(min(r.Node[i], 1)) // nodes differ in their features alone
		d.Add(math.Float32bits(r.Delta[i]), there, in.node.Known(r.Node[i]), in.edge.Known(r.Edge[i]))
	}
	for _, c := range r.Count[2*lo : 2*hi] {
		d.Add(uint32(c))
	}
	var ways []float32
	if in.cfg.Direction {
		ways = r.Way[lo:hi]
	}
	for _, way := range ways {
		d.Add(math.Float32bits(way))
	}
	if d.Number()*r.Len < len(kept.Node) {
		return
	}
	kept.Way = append(kept.Way, ways...)
	kept.Node, kept.Edge = append(kept.Node, r.Node[lo:hi]...), append(kept.Edge, r.Edge[lo:hi]...)
	kept.Delta, kept.Count = append(kept.Delta, r.Delta[lo:hi]...), append(kept.Count, r.Count[2*lo:2*hi]...)
}
