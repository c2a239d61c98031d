package nn

import (
	"math"

	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// StateDim is the size of a channel's state, ConvWidth the span of the convolution before it: the defaults of the Mamba
// library, which all models take.
const (
	StateDim  = 16
	ConvWidth = 4
)

// Mamba is a Mamba block with expansion 1.
type Mamba struct{ grad.MambaWeights }

// NewMamba adds a block of the given width, state size and convolution width; Δ has rank ⌈width/16⌉.
// Order and names are those of the reference: A_log, D, in_proj, conv1d, x_proj, dt_proj, out_proj.
func NewMamba(s Scope, width, state, kernel int) *Mamba {
	rank := (width + 15) / 16
	w := grad.MambaWeights{
		ALog: s.Add("A_log", stateLog(state), width, state),
		Skip: s.Add("D", Const(1), width),
		In:   s.Add("in_proj.weight", FanIn(width), 2*width, width),
	}
	w.Conv = s.Add("conv1d.weight", FanIn(kernel), width, 1, kernel)
	w.ConvB = s.Add("conv1d.bias", FanIn(kernel), width)
	w.X = s.Add("x_proj.weight", FanIn(width), rank+2*state, width)
	w.Dt = s.Add("dt_proj.weight", After(width*(rank+1), Uniform(1/math.Sqrt(float64(rank)))), width, rank)
	w.DtB = s.Add("dt_proj.bias", stepBias, width)
	w.Out = s.Add("out_proj.weight", FanIn(width), width, width)
	return &Mamba{w}
}

// Forward maps [B, L, width] → [B, L, width].
func (l *Mamba) Forward(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	return grad.Mamba(tp, x, &l.MambaWeights)
}
