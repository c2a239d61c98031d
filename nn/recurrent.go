package nn

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/tensor"
)

// newCell adds the weights of a recurrent cell: weight_ih, weight_hh, bias_ih, bias_hh, each with the suffix.
func newCell(s Scope, suffix string, gates, in, hidden int) grad.CellWeights {
	init := FanIn(hidden)
	w := grad.CellWeights{}
	w.In = s.Add("weight_ih"+suffix, init, gates*hidden, in)
	w.State = s.Add("weight_hh"+suffix, init, gates*hidden, hidden)
	w.InBias = s.Add("bias_ih"+suffix, init, gates*hidden)
	w.StateBias = s.Add("bias_hh"+suffix, init, gates*hidden)
	return w
}

// RNN is a plain recurrent cell.
type RNN struct{ grad.CellWeights }

// NewRNN adds a plain recurrent cell.
func NewRNN(s Scope, in, hidden int) RNN { return RNN{newCell(s, "", 1, in, hidden)} }

// Forward moves the state h [n, hidden] by the input x [n, in].
func (l RNN) Forward(tp *grad.Tape, x, h *tensor.Tensor) *tensor.Tensor {
	return grad.RNN(tp, x, h, l.CellWeights)
}

// GRU is a gated recurrent unit.
type GRU struct{ grad.CellWeights }

// NewGRU adds a gated recurrent unit.
func NewGRU(s Scope, in, hidden int) GRU { return GRU{newCell(s, "", 3, in, hidden)} }

// Forward moves the state h [n, hidden] by the input x [n, in].
func (l GRU) Forward(tp *grad.Tape, x, h *tensor.Tensor) *tensor.Tensor {
	return grad.GRU(tp, x, h, l.CellWeights)
}

// BiLSTM is a one-layer LSTM in both directions.
type BiLSTM struct{ Forth, Back grad.CellWeights }

// NewBiLSTM adds a bidirectional LSTM with hidden numbers of state in each direction: weight_ih_l0 …,
// weight_ih_l0_reverse ….
func NewBiLSTM(s Scope, in, hidden int) BiLSTM {
	return BiLSTM{newCell(s, "_l0", 4, in, hidden), newCell(s, "_l0_reverse", 4, in, hidden)}
}

// Tree is walks that share their beginnings: on level 0 the first steps, on each further level the continuations of
// all steps of the one before. Steps are numbered level by level. There are at most MaxLevels.
type Tree struct {
	Levels  []int         // how many steps each has
	Parents []device.Ints // of each level but the first: which step of the level before a step goes on from
	Ends    device.Ints   // [walks]: their last steps, among those of all levels
}

// MaxLevels is how long walks can be.
const MaxLevels = 8

// Ends is the output at the last step of every walk of a tree, of both directions, [walks, hidden] each. The input of
// all steps is the concatenation of parts, which is never made. Going forth, the state has seen all steps up to the
// last; it is computed once for all walks that begin alike. Going back, it has seen the last alone.
func (l BiLSTM) Ends(tp *grad.Tape, t *Tree, parts ...grad.Part) (forth, back *tensor.Tensor) {
	gates := grad.LinearSum(tp, l.Forth.In, l.Forth.InBias, device.Identity, parts...) // [steps, 4·hidden]
	steps, hidden := gates.Rows(), l.Forth.State.Cols()
	h, c := tp.Zeros(t.Levels[0], hidden), tp.Zeros(t.Levels[0], hidden)
	var list [MaxLevels]*tensor.Tensor
	states := list[:0]
	lo := 0
	for level, n := range t.Levels {
		old := grad.Linear(tp, h, l.Forth.State, l.Forth.StateBias, device.Identity)
		if level > 0 {
			parents := t.Parents[level-1]
			old, c = grad.Gather(tp, old, parents, 1), grad.Gather(tp, c, parents, 1)
		}
		h, c = grad.LSTMGates(tp, grad.Rows(tp, gates, lo, lo+n), old, c) // [n, hidden] each
		states = append(states, h)
		lo += n
	}
	forth = grad.Gather(tp, grad.Stack(tp, states...), t.Ends, 1) // [walks, hidden]

	// Every step as if it were a walk's last: the state before is zero, so only its bias is left of it.
	bias := grad.Add(tp, l.Back.InBias, l.Back.StateBias)
	gates = grad.LinearSum(tp, l.Back.In, bias, device.Identity, parts...) // [steps, 4·hidden]
	alone, _ := grad.LSTMGates(tp, gates, tp.Zeros(steps, 4*hidden), tp.Zeros(steps, hidden))
	return forth, grad.Gather(tp, alone, t.Ends, 1)
}
