package sequence

import (
	"encoding/binary"
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Distinct numbers things in the order in which they first come, for models that read what is alike once.
type Distinct struct {
	Of    []int32 // the number of each thing
	known map[string]int32
	key   []byte
}

// NewDistinct has seen nothing yet.
func NewDistinct() *Distinct { return &Distinct{known: map[string]int32{}} }

// Add adds words to what makes the next thing distinct.
func (d *Distinct) Add(words ...uint32) {
	for _, w := range words {
		d.key = binary.LittleEndian.AppendUint32(d.key, w)
	}
}

// Number ends a thing and is its number: the count of those before it if it is new.
func (d *Distinct) Number() int {
	n, ok := d.known[string(d.key)]
	if !ok {
		n = int32(len(d.known))
		d.known[string(d.key)] = n
	}
	d.key = d.key[:0]
	d.Of = append(d.Of, n)
	return int(n)
}

// DistinctRows keeps the first of equal rows of k numbers, and says which each row is.
func DistinctRows(rows []float32, k int) (kept []float32, of []int32) {
	d := NewDistinct()
	for at := 0; at < len(rows); at += k {
		row := rows[at : at+k]
		for _, x := range row {
			d.Add(math.Float32bits(x))
		}
		if d.Number()*k == len(kept) {
			kept = append(kept, row...)
		}
	}
	return kept, d.Of
}

// DistinctHistories keeps the first of equal rows, and says which each row is. They are equal if a model sees no
// difference: where nodes have no features they are all alike.
//
// Beside, which may be nil, has one more number for each position of each list; those of the kept rows come back.
func DistinctHistories(node, edge *nn.Features, lists []*sample.Rows, beside [][]float32,
) (kept *sample.Rows, more []float32, of []int32) {
	d := NewDistinct()
	kept = &sample.Rows{Len: lists[0].Len}
	for k, r := range lists {
		described := r.Described()
		for lo := 0; lo < len(r.Node); lo += r.Len {
			hi := lo + r.Len
			for i := lo; i < hi; i++ {
				there := uint32(min(r.Node[i], 1)) // nodes differ in their features alone
				d.Add(math.Float32bits(r.Delta[i]), there, node.Known(described[i]), edge.Known(r.Edge[i]))
			}
			var counts []int32
			if len(r.Count) > 0 {
				counts = r.Count[2*lo : 2*hi]
			}
			for _, c := range counts {
				d.Add(uint32(c))
			}
			var numbers []float32
			if len(beside) > 0 {
				numbers = beside[k][lo:hi]
			}
			for _, x := range numbers {
				d.Add(math.Float32bits(x))
			}
			if d.Number()*r.Len < len(kept.Node) {
				continue
			}
			kept.Node, kept.Edge = append(kept.Node, r.Node[lo:hi]...), append(kept.Edge, r.Edge[lo:hi]...)
			if len(r.State) > 0 {
				kept.State = append(kept.State, r.State[lo:hi]...)
			}
			kept.Delta, kept.Count = append(kept.Delta, r.Delta[lo:hi]...), append(kept.Count, counts...)
			more = append(more, numbers...)
		}
	}
	return kept, more, d.Of
}

// Repeat gives things by number: [distinct, ...] → [len(of), ...].
func Repeat(tp *grad.Tape, x *tensor.Tensor, of device.Ints) *tensor.Tensor {
	shape := x.Shape()
	flat := grad.Reshape(tp, x, shape[0], x.Len()/shape[0])
	return grad.Reshape(tp, grad.Gather(tp, flat, of, 1), append([]int{of.Len}, shape[1:]...)...)
}
