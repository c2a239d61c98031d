package dygmamba

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models/internal/sequence"
	"github.com/dygmamba/dygmamba/sample"
)

var _ model.Sharer = (*Model)(nil)

// Share reads each history and each row of gaps once, however many queries have it. What a source did is the same for
// all candidates but for how often its neighbours, and padding, occur on the other side; candidates without a past are
// alike, and so are pairs that never met.
func (m *Model) Share(tp *grad.Tape, b *sample.Batch) model.Embedding {
	n := len(b.Queries)
	of := m.input.share(tp, b)
	m.histories = m.histories[:0]
	for i := range m.input.sides {
		s := &m.input.sides[i]
		h := sequence.Repeat(tp, m.nodeLevel(tp, s, m.encode(tp, s)), of.rows[i]) // [rows, P, D]
		m.histories = append(m.histories, sequence.History{Tensor: h, Some: of.some[i]})
	}
	if !m.cfg.pattern() {
		e := m.withoutPattern(tp, n)
		e.Kind = m.KindsAsked(tp, b)
		return e
	}
	pattern := sequence.Repeat(tp, m.timeLevel(tp), of.gaps)   // [n, g]
	nodes := m.selection.Choose(tp, m.histories, pattern)      // [2n, D]
	src, dst := grad.Split(tp, m.output.Forward(tp, nodes), n) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst, Pair: m.outputPattern.Forward(tp, pattern),
		Kind: m.KindsAsked(tp, b)}
}

// shared says which of the distinct things each row has.
type shared struct {
	rows [2]device.Ints // of each side [rows]
	some [2]device.Ints // of each side [rows·P], Paper only: patches that hold anything
	gaps device.Ints    // [n]
}

// share uploads a batch as load does, but what several rows have in common once.
func (in *input) share(tp *grad.Tape, b *sample.Batch) (of shared) {
	src, dst := &b.Rows[0], &b.Rows[1]
	in.Often.Begin()
	in.sides = in.sides[:0]
	if in.cfg.pattern() {
		kept, gaps := sequence.DistinctRows(b.Gaps, in.cfg.Meetings)
		in.gaps, of.gaps = tp.Floats(kept, len(kept)/in.cfg.Meetings, in.cfg.Meetings), tp.Ints(gaps)
	}
	add := func(rows ...*sample.Rows) {
		i := len(in.sides)
		kept, _, each := sequence.DistinctHistories(in.Node, in.Edge, rows, nil)
		of.rows[i] = tp.Ints(each)
		if in.cfg.Arch == Paper {
			of.some[i] = tp.Ints(in.patchesOf(each, kept))
		}
		in.sides = append(in.sides, in.side(tp, kept, &sample.Rows{}))
	}
	if src.Len == dst.Len {
		add(src, dst)
	} else {
		add(src)
		add(dst)
	}
	return of
}

// patchesOf says which patches of each row hold anything.
func (in *input) patchesOf(of []int32, kept *sample.Rows) []int32 {
	var some []int32
	for _, k := range of {
		row := kept.Node[int(k)*kept.Len:][:kept.Len]
		for last := in.cfg.Patch - 1; last < len(row); last += in.cfg.Patch { // padding is on the left
			some = append(some, min(row[last], 1))
		}
	}
	return some
}
