package dygmamba

import (
	"encoding/binary"
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

var _ model.Sharer = (*Model)(nil)

// Share reads each history and each row of gaps once, however many queries have it. What a source did is the same for
// all candidates but for how often its neighbours, and padding, occur on the other side; candidates without a past
// are alike, and so are pairs that never met.
func (m *Model) Share(tp *grad.Tape, b *sample.Batch) model.Embedding {
	n := len(b.Queries)
	of := m.input.share(tp, b)
	history := m.nodeLevel(tp, m.encode(tp))    // [distinct, P, D]
	history = repeat(tp, history, of.histories) // [2n, P, D]
	if !m.cfg.pattern() {
		return m.withoutPattern(tp, history, n)
	}
	pattern := repeat(tp, m.timeLevel(tp), of.gaps)            // [n, g]
	nodes, _ := m.choose(tp, history, pattern)                 // [2n, D]
	src, dst := grad.Split(tp, m.output.Forward(tp, nodes), n) // [n, NodeDim] each
	return model.Embedding{Src: src, Dst: dst, Pair: m.outputPattern.Forward(tp, pattern)}
}

// repeat repeats things by number: [distinct, ...] → [len(of), ...].
func repeat(tp *grad.Tape, x *tensor.Tensor, of device.Ints) *tensor.Tensor {
	shape := x.Shape()
	flat := grad.Reshape(tp, x, shape[0], x.Len()/shape[0])
	return grad.Reshape(tp, grad.Gather(tp, flat, of, 1), append([]int{of.Len}, shape[1:]...)...)
}

// shared says which of the distinct things each row has.
type shared struct {
	histories device.Ints // [2n]: sources first
	gaps      device.Ints // [n]
}

// share uploads a batch as load does, but what several rows have in common once. Where nodes have no features they
// are all alike.
func (in *input) share(tp *grad.Tape, b *sample.Batch) (of shared) {
	in.collect(b)
	if in.cfg.Arch == Paper { // the softmax at the end is over all rows
		in.loadSteps(tp)
	}
	masks := in.some
	of.histories = tp.Ints(in.keepDistinct(b.Rows[0].Len))
	in.delta = tp.Floats(in.hostDelta, len(in.hostDelta))
	in.present = tp.Ints(in.hostNodes)
	in.counts = tp.Ints(in.hostCounts)
	in.node.rows, in.edge.rows = tp.Ints(in.node.host), tp.Ints(in.edge.host)
	if in.cfg.Arch == Paper {
		in.loadSteps(tp)
		in.some = masks
	}
	if in.cfg.pattern() {
		of.gaps = in.shareGaps(tp, b.Gaps)
	}
	return of
}

// collect puts the rows of both sides one after another.
func (in *input) collect(b *sample.Batch) {
	src, dst := &b.Rows[0], &b.Rows[1]
	in.rows = 2 * len(b.Queries)
	in.hostNodes = append(append(in.hostNodes[:0], src.Node...), dst.Node...)
	in.hostDelta = append(append(in.hostDelta[:0], src.Delta...), dst.Delta...)
	in.hostCounts = append(append(in.hostCounts[:0], src.Count...), dst.Count...)
	in.placeCounts()
	in.node.collect(src.Node, dst.Node)
	in.edge.collect(src.Edge, dst.Edge)
}

// keepDistinct keeps the first of equal rows, and says which of those kept each row is.
func (in *input) keepDistinct(length int) []int32 {
	d := newDistinct()
	kept := 0
	for r := range in.rows {
		for i := r * length; i < (r+1)*length; i++ {
			there := uint32(min(in.hostNodes[i], 1)) // nodes differ in their features alone
			d.add(math.Float32bits(in.hostDelta[i]), there)
		}
		addRow(d, in.hostCounts, r, in.rows)
		addRow(d, in.node.host, r, in.rows)
		addRow(d, in.edge.host, r, in.rows)
		if d.number() < kept {
			continue
		}
		moveRow(in.hostDelta, kept, r, in.rows)
		moveRow(in.hostNodes, kept, r, in.rows)
		moveRow(in.hostCounts, kept, r, in.rows)
		moveRow(in.node.host, kept, r, in.rows)
		moveRow(in.edge.host, kept, r, in.rows)
		kept++
	}
	in.hostDelta, in.hostNodes = firstRows(in.hostDelta, kept, in.rows), firstRows(in.hostNodes, kept, in.rows)
	in.hostCounts = firstRows(in.hostCounts, kept, in.rows)
	in.node.host, in.edge.host = firstRows(in.node.host, kept, in.rows), firstRows(in.edge.host, kept, in.rows)
	in.rows = kept
	return d.of
}

// shareGaps uploads distinct rows of gaps, and says which each query has.
func (in *input) shareGaps(tp *grad.Tape, gaps []float32) device.Ints {
	d, k := newDistinct(), in.cfg.Meetings
	in.hostGaps = in.hostGaps[:0]
	for at := 0; at < len(gaps); at += k {
		row := gaps[at : at+k]
		for _, x := range row {
			d.add(math.Float32bits(x))
		}
		if d.number()*k == len(in.hostGaps) {
			in.hostGaps = append(in.hostGaps, row...)
		}
	}
	in.gaps = tp.Floats(in.hostGaps, len(in.hostGaps)/k, k)
	return tp.Ints(d.of)
}

// addRow adds row r of n to what makes a thing distinct.
func addRow(d *distinct, x []int32, r, n int) {
	each := len(x) / n
	for _, v := range x[r*each : (r+1)*each] {
		d.add(uint32(v))
	}
}

// moveRow moves row r of n to an earlier place.
func moveRow[T any](x []T, to, r, n int) {
	each := len(x) / n
	copy(x[to*each:(to+1)*each], x[r*each:])
}

// firstRows are the first so many of n rows.
func firstRows[T any](x []T, rows, n int) []T { return x[:len(x)/n*rows] }

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
