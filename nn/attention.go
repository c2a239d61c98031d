package nn

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// MultiHead is PyTorch's multi-head attention with stacked projections.
type MultiHead struct {
	In, InBias *tensor.Tensor // [3a, a], [3a]: query, key, value
	Out        Linear
	Heads      int
	Rate       float32 // dropout on the attention weights
}

// NewMultiHead adds attention of the given width: in_proj_weight, in_proj_bias, out_proj. PyTorch makes out_proj first,
// an ordinary linear map, then fills in_proj_weight, and last sets the biases to 0, of which it has drawn out_proj's.
func NewMultiHead(s Scope, width, heads int, rate float32) MultiHead {
	bound := math.Sqrt(6 / float64(4*width)) // Xavier over the stacked matrix
	l := MultiHead{Heads: heads, Rate: rate}
	l.In = s.Add("in_proj_weight", After(width, Uniform(bound)), 3*width, width)
	l.InBias = s.Add("in_proj_bias", Const(0), 3*width)
	l.Out = Linear{s.Add("out_proj.weight", FanIn(width), width, width), s.Add("out_proj.bias", Const(0), width)}
	s.DrawBefore(l.In, l.Out.W)
	return l
}

// Forward lets each query [B, Q, a] attend to the keys [B, K, a]. Keys whose mask [B·K] is 0 are not seen; an empty
// mask hides none.
func (l MultiHead) Forward(tp *grad.Tape, query, keys *tensor.Tensor, mask device.Ints) *tensor.Tensor {
	q, k, v := l.project(tp, query, 0), l.project(tp, keys, 1), l.project(tp, keys, 2)
	y := grad.Attention(tp, q, k, v, l.heads(mask, l.Rate))
	return l.Out.Forward(tp, y) // [B, Q, a]
}

// Weights says how much each query of Forward looks at each key, as the mean over the heads and without dropout:
// [B, Q, K], which add up to 1 over the keys.
func (l MultiHead) Weights(tp *grad.Tape, query, keys *tensor.Tensor, mask device.Ints) *tensor.Tensor {
	q, k := l.project(tp, query, 0), l.project(tp, keys, 1)
	_, w := grad.AttentionWeights(tp, q, k, k, l.heads(mask, 0))                 // [B, Heads, Q, K]
	w = grad.Reshape(tp, w, w.Dim(0), l.Heads, w.Dim(2)*w.Dim(3))                // [B, Heads, Q·K]
	return grad.Reshape(tp, grad.MeanSteps(tp, w), q.Dim(0), q.Dim(1), k.Dim(1)) // [B, Q, K]
}

// project maps to queries (0), keys (1) or values (2).
func (l MultiHead) project(tp *grad.Tape, x *tensor.Tensor, i int) *tensor.Tensor {
	a := l.Out.W.Cols()
	w, b := grad.Rows(tp, l.In, i*a, (i+1)*a), grad.Rows(tp, l.InBias, i*a, (i+1)*a)
	return grad.Linear(tp, x, w, b, device.Identity)
}

func (l MultiHead) heads(mask device.Ints, drop float32) grad.Heads {
	return grad.Heads{Heads: l.Heads, Mask: mask, Fill: float32(math.Inf(-1)), Drop: drop}
}

// Self lets every step of x [B, L, a] attend to all steps, as Forward of x to itself does. One product makes queries,
// keys and values.
func (l MultiHead) Self(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	qkv := grad.Linear(tp, x, l.In, l.InBias, device.Identity)                                      // [B, L, 3a]
	return l.Out.Forward(tp, grad.SelfAttention(tp, qkv, grad.Heads{Heads: l.Heads, Drop: l.Rate})) // [B, L, a]
}

// Transformer is a layer of attention and feed-forward, each with a residual and a norm.
type Transformer struct {
	Attention    MultiHead
	FeedForward  FeedForward
	Norm0, Norm1 LayerNorm
	Rate         float32
}

// NewTransformer adds a layer of the given width, a → 4a → a inside: multi_head_attention, linear_layers, norm_layers.
func NewTransformer(s Scope, width, heads int, act device.Act, rate float32) *Transformer {
	return &Transformer{
		Attention:   NewMultiHead(s.In("multi_head_attention"), width, heads, rate),
		FeedForward: NewFeedForward(s.In("linear_layers"), "0", "1", width, 4*width, width, act, rate),
		Norm0:       NewLayerNorm(s.In("norm_layers.0"), width),
		Norm1:       NewLayerNorm(s.In("norm_layers.1"), width),
		Rate:        rate,
	}
}

// PostNorm is the layer that normalises after each residual (TCL, CAWN): y = LN₀(q + drop(att(q, keys))), LN₁(y +
// ffn(y)).
func (l *Transformer) PostNorm(tp *grad.Tape, query, keys *tensor.Tensor, mask device.Ints) *tensor.Tensor {
	a := grad.Dropout(tp, l.Attention.Forward(tp, query, keys, mask), l.Rate)
	y := l.Norm0.Add(tp, a, query)
	return l.Norm1.Add(tp, l.FeedForward.Forward(tp, y), y)
}

// PreNorm is the layer that normalises before attention and feed-forward (DyGFormer): y = x + drop(att(LN₀ x)), y +
// ffn(LN₁ y).
func (l *Transformer) PreNorm(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	n := l.Norm0.Forward(tp, x)
	y := grad.Add(tp, x, grad.Dropout(tp, l.Attention.Self(tp, n), l.Rate))
	return grad.Add(tp, y, l.FeedForward.Forward(tp, l.Norm1.Forward(tp, y)))
}

// TemporalAttention lets a node attend to its neighbours (TGAT, TGN, DyRep): LN(drop(W·att) + query).
type TemporalAttention struct {
	Query, Key, Value Linear
	Norm              LayerNorm
	Residual          Linear
	Heads             int
	Rate              float32

	found []grad.Part // what each head found
}

// NewTemporalAttention adds attention of queries of width q to keys of width k: query_projection, key_projection,
// value_projection, layer_norm, residual_fc.
func NewTemporalAttention(s Scope, q, k, heads int, rate float32) *TemporalAttention {
	return &TemporalAttention{
		Query:    NewProjection(s.In("query_projection"), q, q),
		Key:      NewProjection(s.In("key_projection"), k, q),
		Value:    NewProjection(s.In("value_projection"), k, q),
		Norm:     NewLayerNorm(s.In("layer_norm"), q),
		Residual: NewLinear(s.In("residual_fc"), q, q),
		Heads:    heads,
		Rate:     rate,
	}
}

// Forward lets query [n, q] attend to K keys each, which are given as parts [n·K, ·] of their concatenation: columns of
// which nothing is given are zero. Where mask [n·K], of zeros and ones, is 0 a key scores −1e10: a query without any
// key takes their plain mean.
//
// There is one query for many keys, so keys are not projected: a query is taken to where they are, qᵀ(W·x) = (Wᵀq)ᵀx,
// and what they are together is projected as the value, Σ w·(V·x) = V·Σ w·x. That is a K-th of the work, and of the
// memory.
func (l *TemporalAttention) Forward(tp *grad.Tape, query *tensor.Tensor, mask device.Ints, keys ...grad.Part,
) *tensor.Tensor {
	y, _ := l.attend(tp, query, mask, keys, false)
	return y
}

// Weigh is Forward, and how much each query looked at each of its keys, [n, K], on the mean over heads.
func (l *TemporalAttention) Weigh(tp *grad.Tape, query *tensor.Tensor, mask device.Ints, keys ...grad.Part,
) (y, weights *tensor.Tensor) {
	return l.attend(tp, query, mask, keys, true)
}

// maxParts is how many parts keys may have.
const maxParts = 8

func (l *TemporalAttention) attend(
	tp *grad.Tape, query *tensor.Tensor, mask device.Ints, keys []grad.Part, weigh bool,
) (y, weights *tensor.Tensor) {
	n := query.Dim(0)
	var list [maxParts]grad.Part
	parts := list[:len(keys)]
	for i, p := range keys {
		parts[i] = grad.Part{X: grad.Reshape(tp, p.X, n, p.X.Rows()/max(1, n), p.X.Cols()), Lo: p.Lo} // [n, K, ·]
	}
	size := query.Cols() / l.Heads
	l.found = l.found[:0]
	for h := range l.Heads {
		value, w := l.head(tp, query, mask, parts, h*size, (h+1)*size) // [n, size], [n, K]
		l.found = append(l.found, grad.Part{X: value, Lo: h * size})
		switch {
		case !weigh:
		case h == 0:
			weights = grad.Scale(tp, w, 1/float32(l.Heads))
		default:
			weights = grad.Add(tp, weights, grad.Scale(tp, w, 1/float32(l.Heads)))
		}
	}
	y = grad.LinearSum(tp, l.Residual.W, l.Residual.B, device.Identity, l.found...) // [n, q]
	return l.Norm.Add(tp, grad.Dropout(tp, y, l.Rate), query), weights
}

// head is what one head finds, and where: rows lo to hi−1 of the projections are its own.
func (l *TemporalAttention) head(
	tp *grad.Tape, query *tensor.Tensor, mask device.Ints, parts []grad.Part, lo, hi int,
) (value, weights *tensor.Tensor) {
	asks := grad.Linear(tp, query, grad.Rows(tp, l.Query.W, lo, hi), nil, device.Identity) // [n, size]
	asks = grad.Scale(tp, asks, float32(1/math.Sqrt(float64(hi-lo))))
	key := grad.Rows(tp, l.Key.W, lo, hi) // [size, k]
	var scores *tensor.Tensor
	for _, p := range parts {
		columns := grad.Columns(tp, key, p.Lo, p.Lo+p.X.Cols())                 // [size, ·]
		some := grad.Dot(tp, grad.MatMul(tp, asks, columns, false, false), p.X) // [n, K]
		if scores == nil {
			scores = some
		} else {
			scores = grad.Add(tp, scores, some)
		}
	}
	weights = grad.Softmax(tp, scores, mask, -1e10) // [n, K]
	dropped := grad.Dropout(tp, weights, l.Rate)
	var list [maxParts]grad.Part
	seen := list[:len(parts)]
	for i, p := range parts {
		seen[i] = grad.Part{X: grad.Pool(tp, dropped, p.X), Lo: p.Lo} // [n, ·]
	}
	return grad.LinearSum(tp, grad.Rows(tp, l.Value.W, lo, hi), nil, device.Identity, seen...), weights // [n, size]
}
