package nn

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// S6 is the selective state space model alone, as equations in papers have it: no convolution, gate, skip or mixing
// around it.
//
//	[δ | B | C] = x·Xᵀ
//	Δ = softplus(δ + bias), one δ for all channels
//	y = scan(x, Δ, B, C), B discretised exactly
type S6 struct {
	ALog *tensor.Tensor // [width, state]
	X    Linear         // [1+2·state, width]
	Bias *tensor.Tensor // [width]
}

// NewS6 adds a model of the given width and state size: A_log, x_proj.weight, dt_bias.
func NewS6(s Scope, width, state int) S6 {
	return S6{
		ALog: s.Add("A_log", stateLog(state), width, state),
		X:    NewProjection(s.In("x_proj"), width, 1+2*state),
		Bias: s.Add("dt_bias", stepBias, width),
	}
}

// Forward maps [B, L, width] → [B, L, width].
func (l S6) Forward(tp *grad.Tape, x *tensor.Tensor) *tensor.Tensor {
	width, state := l.ALog.Dim(0), l.ALog.Dim(1)
	proj := l.X.Forward(tp, x)                                         // [B, L, 1+2·state]
	delta := grad.Add(tp, tp.Zeros(x.Dim(0), x.Dim(1), width), l.Bias) // [B, L, width]
	delta = grad.Add(tp, delta, grad.RowSum(tp, grad.Columns(tp, proj, 0, 1)))
	return grad.Scan(tp, grad.ScanArgs{
		U:     x,
		Delta: grad.Apply(tp, device.Softplus, delta),
		ALog:  l.ALog,
		B:     grad.Columns(tp, proj, 1, 1+state),
		C:     grad.Columns(tp, proj, 1+state, 1+2*state),
		Exact: true,
	})
}
