package walkmamba

import (
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
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
func (in *input) share(tp *grad.Tape, b *sample.Batch, ways [][]float32,
) (src, dst *sample.Rows, way [][]float32, gaps []float32) {
	src, dst, gaps = &b.Rows[0], &b.Rows[1], b.Gaps
	if in.cfg.TimeBlock {
		kept, of := sequence.DistinctRows(gaps, in.cfg.Meetings)
		gaps, in.gapsOf = kept, tp.Ints(of)
	}
	if in.cfg.Neighbors {
		return src, dst, ways, gaps
	}
	kept, more, of := sequence.DistinctHistories(in.Node, in.Edge, []*sample.Rows{src, dst}, ways)
	in.rowsOf = tp.Ints(of)
	return kept, &sample.Rows{}, [][]float32{more}, gaps
}
