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

// Tree is walks that share their beginnings: on level 0 the first steps, on each further level Fan continuations of
// every step of the one before, which stand together. Steps are numbered level by level. There is a walk for every step
// of the last level; it ends before the first step that is padding, which nothing but padding follows.
type Tree struct {
	Levels []int            // how many steps each has
	Fan    int              // how many go on from a step
	Steps  []*tensor.Tensor // of each level but the first, [steps before, Fan]: 1 at a step, 0 at padding
	Gaps   []*tensor.Tensor // the other way round
}

// Ends is the output at the last step of every walk of a tree, of both directions, [walks, hidden] each. The input of
// all steps is the concatenation of parts, which is never made. Going forth, the state has seen all steps up to the
// last; it is computed once for all walks that begin alike. Going back, it has seen the last alone.
func (l BiLSTM) Ends(tp *grad.Tape, t *Tree, parts ...grad.Part) (forth, back *tensor.Tensor) {
	gates := grad.LinearSum(tp, l.Forth.In, l.Forth.InBias, device.Identity, parts...) // [steps, 4·hidden]
	steps, hidden := gates.Rows(), l.Forth.State.Cols()
	h, c := tp.Zeros(t.Levels[0], hidden), tp.Zeros(t.Levels[0], hidden)
	lo := 0
	for level, n := range t.Levels {
		old := grad.Linear(tp, h, l.Forth.State, l.Forth.StateBias, device.Identity)
		if level > 0 {
			old, c = grad.Repeat(tp, old, t.Fan), grad.Repeat(tp, c, t.Fan)
		}
		h, c = grad.LSTMGates(tp, grad.Rows(tp, gates, lo, lo+n), old, c) // [n, hidden] each
		forth = t.advance(tp, level, forth, h)
		lo += n
	}

	// Every step as if it were a walk's last: the state before is zero, so only its bias is left of it.
	bias := grad.Add(tp, l.Back.InBias, l.Back.StateBias)
	gates = grad.LinearSum(tp, l.Back.In, bias, device.Identity, parts...) // [steps, 4·hidden]
	alone, _ := grad.LSTMGates(tp, gates, tp.Zeros(steps, 4*hidden), tp.Zeros(steps, hidden))
	lo = 0
	for level, n := range t.Levels {
		back = t.advance(tp, level, back, grad.Rows(tp, alone, lo, lo+n))
		lo += n
	}
	return forth, back
}

// advance takes what was said at the ends of walks up to the level before, and what the steps of a level say, both
// [steps, hidden], to the ends of walks up to this level: where there is padding, the end stays what it was.
func (t *Tree) advance(tp *grad.Tape, level int, ends, x *tensor.Tensor) *tensor.Tensor {
	if level == 0 {
		return x
	}
	here, before := t.Steps[level-1], t.Gaps[level-1]
	x = grad.Mul(tp, x, grad.Reshape(tp, here, x.Rows(), 1))
	return grad.Add(tp, x, grad.Reshape(tp, grad.Outer(tp, before, ends), x.Rows(), x.Cols()))
}
