package nn

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// Linear is x·Wᵀ + b.
type Linear struct {
	W *tensor.Tensor // [out, in]
	B *tensor.Tensor // [out], or nil
}

// NewLinear adds a linear map with bias: weight, bias.
func NewLinear(s Scope, in, out int) Linear {
	return Linear{s.Add("weight", FanIn(in), out, in), s.Add("bias", FanIn(in), out)}
}

// NewProjection adds a linear map without bias: weight.
func NewProjection(s Scope, in, out int) Linear {
	return Linear{W: s.Add("weight", FanIn(in), out, in)}
}

// Forward maps [..., in] → [..., out].
func (l Linear) Forward(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	return grad.Linear(tp, x, l.W, l.B, device.Identity)
}

// Act is Forward with an activation.
func (l Linear) Act(tp *grad.Tape, x *tensor.Tensor, act device.Act) *tensor.Tensor {
	return grad.Linear(tp, x, l.W, l.B, act)
}

// Join is Forward of the concatenation of its arguments, [..., a], [..., b], … with a+b+… = in, which is never made.
func (l Linear) Join(tp *grad.Tape, act device.Act, xs ...*tensor.Tensor) *tensor.Tensor {
	var parts [8]grad.Part
	lo := 0
	for i, x := range xs {
		parts[i] = grad.Part{X: x, Lo: lo}
		lo += x.Cols()
	}
	if lo != l.W.Cols() {
		panic(tensor.Mismatch("join", "parts that together are as wide as the weight [out, in]",
			[]int{lo}, l.W.Shape()))
	}
	return grad.LinearSum(tp, l.W, l.B, act, parts[:len(xs)]...)
}

// NewEmbedding adds a table of vectors, [rows, width]: weight. grad.Gather looks them up.
func NewEmbedding(s Scope, rows, width int) *tensor.Tensor {
	return s.Add("weight", Normal, rows, width)
}

// LayerNorm normalises rows.
type LayerNorm struct{ Gamma, Beta *tensor.Tensor }

// NewLayerNorm adds a layer norm: weight, bias.
func NewLayerNorm(s Scope, width int) LayerNorm {
	return LayerNorm{s.Add("weight", Const(1), width), s.Add("bias", Const(0), width)}
}

// Forward normalises x.
func (l LayerNorm) Forward(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	return grad.LayerNorm(tp, x, l.Gamma, l.Beta)
}

// Add normalises x + residual and uses x up (see grad.AddNorm).
func (l LayerNorm) Add(tp *grad.Tape, x, residual *tensor.Tensor) *tensor.Tensor {
	return grad.AddNorm(tp, x, residual, l.Gamma, l.Beta)
}

// TimeEncoder turns time differences into cosines of frequencies from 1 to 1e-9.
type TimeEncoder struct{ W, B *tensor.Tensor }

// NewTimeEncoder adds a time encoder: w.weight, w.bias.
func NewTimeEncoder(s Scope, width int) TimeEncoder {
	s = s.In("w")
	return TimeEncoder{s.Add("weight", After(2*width, Frequencies), width, 1), s.Add("bias", Const(0), width)}
}

// NewLogTimeEncoder adds one for logarithms of time differences.
func NewLogTimeEncoder(s Scope, width int) TimeEncoder {
	s = s.In("w")
	return TimeEncoder{s.Add("weight", LogFrequencies, width, 1), s.Add("bias", Const(0), width)}
}

// Forward encodes [...] → [..., width]; rows whose mask is 0 are zero, an empty mask masks nothing.
func (l TimeEncoder) Forward(tp *grad.Tape, delta *tensor.Tensor, mask device.Ints) *tensor.Tensor {
	return grad.TimeCode(tp, delta, l.W, l.B, mask)
}

// FeedForward is two linear maps with an activation and dropout after each.
type FeedForward struct {
	grad.FeedForwardWeights
	Activation device.Act
	Rate       float32
}

// NewFeedForward adds a feed-forward block in → hidden → out whose maps have the names a and b.
func NewFeedForward(s Scope, a, b string, in, hidden, out int, act device.Act, rate float32) FeedForward {
	la, lb := NewLinear(s.In(a), in, hidden), NewLinear(s.In(b), hidden, out)
	return FeedForward{grad.FeedForwardWeights{A: la.W, ABias: la.B, B: lb.W, BBias: lb.B}, act, rate}
}

// Forward maps [..., in] → [..., out].
func (l *FeedForward) Forward(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	return grad.FeedForward(tp, x, &l.FeedForwardWeights, l.Activation, l.Rate)
}

// Merge scores several vectors together: fc2·relu(fc1·[x ‖ y ‖ …]).
type Merge struct{ FC1, FC2 Linear }

// NewMerge adds a merge layer of in → hidden → out: fc1, fc2.
func NewMerge(s Scope, in, hidden, out int) Merge {
	return Merge{NewLinear(s.In("fc1"), in, hidden), NewLinear(s.In("fc2"), hidden, out)}
}

// Forward maps [n, a], [n, b], … → [n, out].
func (l Merge) Forward(tp *grad.Tape, xs ...*tensor.Tensor) *tensor.Tensor {
	return l.FC2.Forward(tp, l.FC1.Join(tp, device.ReLU, xs...))
}
