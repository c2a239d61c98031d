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

// kernel is what the device is asked for but for its inputs and weights: y [B, Q, HD] from as many keys in every item.
func (h Heads) kernel(tp *Tape, y *tensor.Tensor, keys int) device.Attention {
	each := y.Cols() / h.Heads
	return device.Attention{
		Batch: y.Dim(0), Heads: h.Heads, Queries: y.Dim(1), Keys: keys, HeadDim: each,
		Scale: float32(1 / math.Sqrt(float64(each))), Mask: h.Mask, Fill: h.Fill, Drop: tp.NextDrop(h.Drop), Y: y.Mat(),
	}
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
		panic(tensor.Mismatch("attention", "a query [B, Q, H·D], keys and values [B, K, H·D], a mask [B·K]", q.Shape(),
			k.Shape(), v.Shape(), []int{h.Mask.Len}))
	}
	y = tp.Result(q.Shape(), q, k, v)
	m := tp.floats.mark()
	if keep {
		weights = tp.New(q.Dim(0), h.Heads, q.Dim(1), k.Dim(1))
	}
	if y.Len() == 0 {
		return y, weights
	}
	a := h.kernel(tp, y, k.Dim(1))
	a.Q, a.K, a.V = q.Mat(), k.Mat(), v.Mat()
	if keep {
		a.Weights = weights.Data
	} else {
		a.Weights = tp.floats.alloc(a.Batch * a.Heads * a.Queries * a.Keys)
	}
	tp.dev.Attention(a)
	if !record(tp, y, attention{q, k, v, a, keep}) && !keep {
		tp.floats.release(m)
	}
	return y, weights
}

type attention struct {
	q, k, v   *tensor.Tensor
	attention device.Attention
	keep      bool // the weights are someone else's too
}

func (o *attention) backward(tp *Tape, dy device.Mat) {
	g := device.AttentionGrad{Attention: o.attention, DY: dy, DQ: tp.scratchLike(dy),
		DK: tp.scratchLike(o.attention.K), DV: tp.scratchLike(o.attention.V)}
	tp.dev.AttentionGrad(g)
	tp.Give(o.q, g.DQ.Buf)
	tp.Give(o.k, g.DK.Buf)
	tp.Give(o.v, g.DV.Buf)
	tp.Recycle(dy.Buf)
	if !o.keep {
		tp.Recycle(o.attention.Weights)
	}
}

// SelfAttention is Attention of sequences to themselves, whose queries, keys and values stand side by side as one
// product makes them: qkv [B, L, 3·HD] → [B, L, HD].
func SelfAttention(tp *Tape, qkv *tensor.Tensor, h Heads) *tensor.Tensor {
	if qkv.Rank() != 3 || h.Heads < 1 || qkv.Cols()%(3*h.Heads) != 0 || h.Mask.Len != 0 && h.Mask.Len != qkv.Rows() {
		panic(tensor.Mismatch("self-attention", "queries, keys and values [B, L, 3·H·D], a mask [B·L]", qkv.Shape(),
			[]int{h.Mask.Len}))
	}
	y := tp.Result(widened(qkv, qkv.Cols()/3).list(), qkv)
	if y.Len() == 0 {
		return y
	}
	m := tp.floats.mark()
	a := h.kernel(tp, y, qkv.Dim(1))
	a.Q, a.K, a.V = thirds(qkv.Mat())
	a.Weights = tp.floats.alloc(a.Batch * a.Heads * a.Queries * a.Keys)
	tp.dev.Attention(a)
	if !record(tp, y, selfAttention{qkv, a}) {
		tp.floats.release(m)
	}
	return y
}

// thirds are the queries, keys and values that stand side by side.
func thirds(x device.Mat) (q, k, v device.Mat) {
	c := x.Cols / 3
	return x.Columns(0, c), x.Columns(c, 2*c), x.Columns(2*c, 3*c)
}

type selfAttention struct {
	qkv       *tensor.Tensor
	attention device.Attention
}

func (o *selfAttention) backward(tp *Tape, dy device.Mat) {
	dx := tp.scratchLike(o.qkv.Mat())
	g := device.AttentionGrad{Attention: o.attention, DY: dy}
	g.DQ, g.DK, g.DV = thirds(dx)
	tp.dev.AttentionGrad(g)
	tp.Give(o.qkv, dx.Buf)
	tp.Recycle(dy.Buf)
	tp.Recycle(o.attention.Weights)
}
