package dygmamba

import (
	"encoding/binary"
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
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
		h := m.nodeLevel(tp, s, m.encode(tp, s))                     // [distinct, P, D]
		m.histories = append(m.histories, repeat(tp, h, of.rows[i])) // [rows, P, D]
		s.some = of.some[i]
	}
	if !m.cfg.pattern() {
		return m.withoutPattern(tp, n)
	}
	pattern := repeat(tp, m.timeLevel(tp), of.gaps)            // [n, g]
	nodes := m.choose(tp, pattern)                             // [2n, D]
	src, dst := grad.Split(tp, m.output.Forward(tp, nodes), n) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst, Pair: m.outputPattern.Forward(tp, pattern)}
}

// repeat gives things by number: [distinct, ...] → [len(of), ...].
func repeat(tp *grad.Tape, x *tensor.Tensor, of device.Ints) *tensor.Tensor {
	shape := x.Shape()
	flat := grad.Reshape(tp, x, shape[0], x.Len()/shape[0])
	return grad.Reshape(tp, grad.Gather(tp, flat, of, 1), append([]int{of.Len}, shape[1:]...)...)
}

// shared says which of the distinct things each row has.
type shared struct {
	rows [2]device.Ints // of each side [rows]
	some [2]device.Ints // of each side [rows·P], Paper only: patches that hold anything
	gaps device.Ints    // [n]
}

// share uploads a batch as load does, but what several rows have in common once. Where nodes have no features they are
// all alike.
func (in *input) share(tp *grad.Tape, b *sample.Batch) (of shared) {
	src, dst := &b.Rows[0], &b.Rows[1]
	in.table, in.sides = nil, in.sides[:0]
	if in.cfg.pattern() {
		of.gaps = in.shareGaps(tp, b.Gaps)
	}
	add := func(rows ...*sample.Rows) {
		i := len(in.sides)
		d := newDistinct()
		kept := in.keepDistinct(d, rows...)
		of.rows[i] = tp.Ints(d.of)
		if in.cfg.Arch == Paper {
			of.some[i] = tp.Ints(in.patchesOf(d.of, kept))
		}
		in.sides = append(in.sides, in.side(tp, len(kept.Node)/max(1, kept.Len), kept, &sample.Rows{}))
	}
	if src.Len == dst.Len {
		add(src, dst)
	} else {
		add(src)
		add(dst)
	}
	return of
}

// keepDistinct keeps the first of equal rows. They are equal if the model sees no difference.
func (in *input) keepDistinct(d *distinct, lists ...*sample.Rows) *sample.Rows {
	kept := &sample.Rows{Len: lists[0].Len}
	for _, r := range lists {
		for lo := 0; lo < len(r.Node); lo += r.Len {
			hi := lo + r.Len
			for i := lo; i < hi; i++ {
				there := uint32(min(r.Node[i], 1)) // nodes differ in their features alone
				d.add(math.Float32bits(r.Delta[i]), there, known(in.node, r.Node[i]), known(in.edge, r.Edge[i]))
			}
			var counts []int32
			if len(r.Count) > 0 {
				counts = r.Count[2*lo : 2*hi]
			}
			for _, c := range counts {
				d.add(uint32(c))
			}
			if d.number()*r.Len < len(kept.Node) {
				continue
			}
			kept.Node, kept.Edge = append(kept.Node, r.Node[lo:hi]...), append(kept.Edge, r.Edge[lo:hi]...)
			kept.Delta, kept.Count = append(kept.Delta, r.Delta[lo:hi]...), append(kept.Count, counts...)
		}
	}
	return kept
}

// known is the row of a table of features that belongs to an id; all that have none are one.
func known(f *nn.Features, id int32) uint32 {
	if f.Empty() || int(id) >= f.Rows() {
		return math.MaxUint32
	}
	return uint32(id)
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

// shareGaps uploads distinct rows of gaps, and says which each query has.
func (in *input) shareGaps(tp *grad.Tape, gaps []float32) device.Ints {
	d, k := newDistinct(), in.cfg.Meetings
	var kept []float32
	for at := 0; at < len(gaps); at += k {
		row := gaps[at : at+k]
		for _, x := range row {
			d.add(math.Float32bits(x))
		}
		if d.number()*k == len(kept) {
			kept = append(kept, row...)
		}
	}
	in.gaps = tp.Floats(kept, len(kept)/k, k)
	return tp.Ints(d.of)
}

// distinct numbers things in the order in which they first come.
type distinct struct {
	known map[string]int32
	key   []byte
	of    []int32
}

func newDistinct() *distinct { return &distinct{known: map[string]int32{}} }

// add adds words to what makes the next thing distinct.
func (d *distinct) add(words ...uint32) {
	for _, w := range words {
		d.key = binary.LittleEndian.AppendUint32(d.key, w)
	}
}

// number ends a thing and is its number: the count of those before it if it is new.
func (d *distinct) number() int {
	n, ok := d.known[string(d.key)]
	if !ok {
		n = int32(len(d.known))
		d.known[string(d.key)] = n
	}
	d.key = d.key[:0]
	d.of = append(d.of, n)
	return int(n)
}
