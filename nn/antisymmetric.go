package nn

import "github.com/dygmamba/dygmamba/tensor"

// AntiSymmetric are the parameters of CTAN's layer, x ← x + ε·tanh((W − Wᵀ − γI)·x + Φ(x) + b). The model that owns
// them computes it.
type AntiSymmetric struct {
	W   *tensor.Tensor // [width, width]
	B   *tensor.Tensor // [width]
	Phi GraphAttention
}

// GraphAttention are the parameters of Φ: single-head attention to neighbours, whose edges' attributes are added to
// keys and values.
type GraphAttention struct {
	Key, Query, Value Linear
	Edge              Linear // without bias
	Skip              Linear // never used, but a part of the reference's checkpoints
}

// NewAntiSymmetric adds a layer of the given width for edges with edge attributes: W, bias, phi.lin_key, phi.lin_query,
// phi.lin_value, phi.lin_edge, phi.lin_skip. PyTorch Geometric draws all of phi three times: its parts when they are
// made, phi when it is made, and the layer, after W, when that is made.
func NewAntiSymmetric(s Scope, width, edge int) AntiSymmetric {
	drawn := 4*width*(width+1) + width*edge // numbers of phi
	l := AntiSymmetric{W: s.Add("W", After(2*drawn, FanIn(width)), width, width), B: s.Add("bias", Const(0), width)}
	s = s.In("phi")
	l.Phi = GraphAttention{
		Key:   NewLinear(s.In("lin_key"), width, width),
		Query: NewLinear(s.In("lin_query"), width, width),
		Value: NewLinear(s.In("lin_value"), width, width),
		Edge:  NewProjection(s.In("lin_edge"), edge, width),
		Skip:  NewLinear(s.In("lin_skip"), width, width),
	}
	return l
}
