package dygmamba

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/model/modeltest"
	"github.com/dygmamba/dygmamba/nn"
)

// The twin's other half: where the paper's equations differ from the released program.

// countPaper counts occurrences in the histories alone, without the appended nodes; these get (0, meetings of the
// pair).
func countPaper(ru, rv *twinRow, u, v int) {
	tally := func(r *twinRow, x int) (n int) {
		for _, y := range r.node[r.pad : len(r.node)-1] {
			if x == y {
				n++
			}
		}
		return n
	}
	fill := func(r *twinRow, opposite int) {
		last := len(r.node) - 1
		for j, x := range r.node {
			switch {
			case j < r.pad:
				r.count = append(r.count, [2]int{})
			case j == last:
				r.count = append(r.count, [2]int{0, tally(r, opposite)})
			case x == opposite:
				r.count = append(r.count, [2]int{tally(r, x), tally(r, x)})
			default:
				r.count = append(r.count, [2]int{tally(ru, x), tally(rv, x)})
			}
		}
	}
	fill(ru, v)
	fill(rv, u)
}

// nodeLevelPaper: h ← h + SSM(h), then h ← h + f_node(LayerNorm(h)), everything per layer.
func (m *twin) nodeLevelPaper(h [][]float64) [][]float64 {
	for l := range m.c.Layers {
		h = modeltest.PlusRows(m.s6(fmt.Sprintf("mamba.%d", l), h), h)
		for j := range h {
			normed := m.w.Norm(fmt.Sprintf("channel_norm.%d", l), h[j])
			h[j] = modeltest.Plus(h[j], m.feed(fmt.Sprintf("channel_feedforward.%d.ffn", l), normed))
		}
	}
	return h
}

// s6 is the bare selective state space model: B, C and a single Δ linear in the input, Δ's bias per channel, both
// discretised exactly.
func (m *twin) s6(name string, seq [][]float64) [][]float64 {
	width, state := len(seq[0]), nn.StateDim
	aLog, bias := m.w[name+".A_log"], m.w[name+".dt_bias"]
	s := make([]float64, width*state)
	var out [][]float64
	for _, x := range seq {
		parts := m.w.Linear(name+".x_proj", x)
		b, read := parts[1:1+state], parts[1+state:]
		y := make([]float64, width)
		for c := range y {
			delta := modeltest.Softplus(parts[0] + bias[c])
			for i := range state {
				a := -math.Exp(aLog[c*state+i])
				aBar := math.Exp(delta * a)
				bBar := 1 / (delta * a) * (aBar - 1) * delta * b[i]
				s[c*state+i] = aBar*s[c*state+i] + bBar*x[c]
				y[c] += read[i] * s[c*state+i]
			}
		}
		out = append(out, y)
	}
	return out
}
