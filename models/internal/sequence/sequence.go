// Package sequence answers: what do two histories say of each other? It holds the layers that models of two histories
// and their gaps have in common, DyGMamba's, and the sizes of these; each model says under which names its parameters
// stand.
package sequence

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// Layer is over sequences, [B, L, width] → [B, L, width].
type Layer interface {
	Forward(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor
}

// Block is the node-level one. It has as many layers as it has norms, which may all be the same one.
type Block struct {
	Layers []Layer // none: each step of a sequence stays by itself
	Norm   []nn.LayerNorm
	Feed   []*nn.FeedForward
}

// ShareFeedForward adds one norm and one feed-forward, those of all layers, as in the released program of DyGMamba.
func (b *Block) ShareFeedForward(s nn.Scope, layers, width int, dropout float64) {
	norm := nn.NewLayerNorm(s.In("channel_norm"), width)
	feed := nn.NewFeedForward(s.In("channel_feedforward"), "ffn.0", "ffn.3", width, 4*width, width, device.GELU,
		float32(dropout))
	for range layers {
		b.Norm, b.Feed = append(b.Norm, norm), append(b.Feed, &feed)
	}
}

// Forward lets every sequence learn from its order: h ← Norm(Layer(h) + h), h ← h + Feed(h).
func (b *Block) Forward(tp *grad.Tape, h *tensor.Tensor) *tensor.Tensor {
	for l := range b.Norm {
		if len(b.Layers) > 0 {
			h = b.Norm[l].Add(tp, b.Layers[l].Forward(tp, h), h) // [B, L, width]
		} else {
			h = b.Norm[l].Forward(tp, h)
		}
		h = grad.Add(tp, b.Feed[l].Forward(tp, h), h)
	}
	return h
}

// Mean is the time-level block: h ← Layer(h) + h, then the mean of the steps, [B, L, width] → [B, width].
func Mean(tp *grad.Tape, layers []Layer, h *tensor.Tensor) *tensor.Tensor {
	for _, l := range layers {
		h = grad.Add(tp, l.Forward(tp, h), h)
	}
	return grad.MeanSteps(tp, h)
}

// History is the steps of as many nodes as it has rows, [rows, P, D].
type History struct {
	*tensor.Tensor
	Some device.Ints // [rows·P]: 0 at steps that hold nothing; empty: all count
}

// Selection decides which steps of a node's history count.
type Selection struct {
	Aggregate nn.Linear // [D → 1] what a history is about
	Opposite  nn.Linear // [D → D] what its node asks of the other's
	Pattern   nn.Linear // [g → D] what the pair's pattern asks of both

	Weights []*tensor.Tensor // of the last call: how much each step of each history counts, [rows, P]
}

// Choose weighs each node's history by what the opposite node and the pair's pattern ask for, [2n, D]. There is one
// list of histories, sources first, or one of sources and one of destinations; a nil pattern asks for nothing.
func (s *Selection) Choose(tp *grad.Tape, histories []History, pattern *tensor.Tensor) *tensor.Tensor {
	summary := Describe(tp, histories, func(i int) *tensor.Tensor {
		h := histories[i].Tensor
		all := grad.Reshape(tp, s.Aggregate.Forward(tp, h), h.Dim(0), h.Dim(1)) // [rows, P]
		return grad.Pool(tp, all, h)                                            // [rows, D]
	}) // [2n, D]
	alpha := Swap(tp, s.Opposite.Forward(tp, summary)) // [2n, D]: u is asked by v, v by u
	if pattern != nil {
		up := s.Pattern.Forward(tp, pattern)                // [n, D]
		alpha = grad.Mul(tp, alpha, grad.Stack(tp, up, up)) // [2n, D]
	}
	s.Weights = s.Weights[:0]
	return Describe(tp, histories, func(i int) *tensor.Tensor {
		asked, h := alpha, histories[i]
		if n := alpha.Dim(0) / 2; len(histories) > 1 {
			asked = grad.Rows(tp, alpha, i*n, (i+1)*n) // [n, D]
		}
		s.Weights = append(s.Weights, h.softmax(tp, grad.Dot(tp, asked, h.Tensor))) // [rows, P]
		return grad.Pool(tp, s.Weights[i], h.Tensor)                                // [rows, D]
	})
}

// softmax is over the steps that count.
func (h *History) softmax(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	if h.Some.Len > 0 {
		return grad.Softmax(tp, x, h.Some, float32(math.Inf(-1)))
	}
	return grad.Softmax(tp, x, device.Ints{}, 0)
}

// Describe puts what is said of each list of histories together, sources first: [2n, ...].
func Describe(tp *grad.Tape, histories []History, describe func(i int) *tensor.Tensor) *tensor.Tensor {
	var list [2]*tensor.Tensor
	for i := range histories {
		list[i] = describe(i)
	}
	if len(histories) == 1 {
		return list[0]
	}
	return grad.Stack(tp, list[:]...)
}

// Swap swaps sources and destinations: [2n, ...] → [2n, ...].
func Swap(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	src, dst := grad.Split(tp, x, x.Dim(0)/2)
	return grad.Stack(tp, dst, src)
}
