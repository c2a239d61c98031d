package grad

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Heads says how Attention attends.
type Heads struct {
	Heads int
	Mask  device.Ints // [B·Keys] or empty; a key where it is 0 scores Fill
	Fill  float32     // −1e10, or −Inf
	Drop  float32     // dropout rate on the weights
}

// Attention is multi-head attention softmax(q·kᵀ/√(HD/Heads))·v: q [B, Q, HD], k and v [B, K, HD] → [B, Q, HD].
func Attention(tp *Tape, q, k, v *tensor.Tensor, h Heads) *tensor.Tensor {
	y, _ := attend(tp, q, k, v, h, false)
	return y
}

// AttentionWeights is Attention that also says how much each query looked at each key: weights [B, Heads, Q, K], which
// sum to one over the keys, or to zero where Fill is −Inf and masks them all. They are what attention computes anyway,
// before dropout; they live as long as y, also through a backward pass, and want no gradient.
func AttentionWeights(tp *Tape, q, k, v *tensor.Tensor, h Heads) (y, weights *tensor.Tensor) {
	return attend(tp, q, k, v, h, true)
}

// attend computes attention. The weights are a tensor, and not only memory for the backward pass, when they are kept.
func attend(tp *Tape, q, k, v *tensor.Tensor, h Heads, keep bool) (y, weights *tensor.Tensor) {
	ok := q.Rank() == 3 && k.Rank() == 3 && tensor.SameShape(k, v) && q.Dim(0) == k.Dim(0) && q.Cols() == k.Cols() &&
		h.Heads > 0 && q.Cols()%h.Heads == 0 && (h.Mask.Len == 0 || h.Mask.Len == k.Rows())
	if !ok {
		panic(tensor.Mismatch("attention", "a query [B, Q, H·D], keys and values [B, K, H·D], a mask [B·K]", q.Shape(), k.Shape(), v.Shape(), []int{h.Mask.Len}))
	}
	y = tp.Result(q.Shape(), q, k, v)
	m := tp.floats.mark()
	if keep {
		weights = tp.New(q.Dim(0), h.Heads, q.Dim(1), k.Dim(1))
	}
	if y.Len() == 0 {
		return y, weights
	}
	a := device.Attention{
		Batch: q.Dim(0), Heads: h.Heads, Queries: q.Dim(1), Keys: k.Dim(1), HeadDim: q.Cols() / h.Heads,
		Q: q.Mat(), K: k.Mat(), V: v.Mat(), Mask: h.Mask, Fill: h.Fill, Drop: tp.NextDrop(h.Drop), Y: y.Mat(),
	}
	a.Scale = float32(1 / math.Sqrt(float64(a.HeadDim)))
	if keep {
		a.Weights = weights.Data
	} else {
		a.Weights = tp.floats.alloc(a.Batch * a.Heads * a.Queries * a.Keys)
	}
	tp.dev.Attention(a)
	switch {
	case y.Tracked:
		Record(tp, attention{q, k, v, y, a, keep})
	case !keep:
		tp.floats.release(m)
	}
	return y, weights
}

type attention struct {
	q, k, v, y *tensor.Tensor
	attention  device.Attention
	keep       bool // the weights are someone else's too
}

func (o *attention) Backward(tp *Tape) {
	g := tp.Take(o.y)
	if g.Len == 0 {
		return
	}
	c := o.y.Cols()
	dq, dk, dv := tp.Scratch(o.q.Len()), tp.Scratch(o.k.Len()), tp.Scratch(o.v.Len())
	tp.dev.AttentionGrad(device.AttentionGrad{
		Attention: o.attention, DY: g.Mat(o.y.Rows(), c),
		DQ: dq.Mat(o.q.Rows(), c), DK: dk.Mat(o.k.Rows(), c), DV: dv.Mat(o.v.Rows(), c),
	})
	tp.Give(o.q, dq)
	tp.Give(o.k, dk)
	tp.Give(o.v, dv)
	tp.Recycle(g)
	if !o.keep {
		tp.Recycle(o.attention.Weights)
	}
}
