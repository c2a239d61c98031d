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

// NewBiLSTM adds a bidirectional LSTM with hidden numbers of state in each direction: weight_ih_l0 …, weight_ih_l0_reverse ….
func NewBiLSTM(s Scope, in, hidden int) BiLSTM {
	return BiLSTM{newCell(s, "_l0", 4, in, hidden), newCell(s, "_l0_reverse", 4, in, hidden)}
}

// Last is the output at the last valid step of sequences x [n, L, in] → [n, 2·hidden]. last [n] numbers that step among all n·L:
// i·L + (length of i) − 1. Going forth, the state has seen every step up to it; going back, only the step itself.
func (l BiLSTM) Last(tp *grad.Tape, x *tensor.Tensor, last device.Ints) *tensor.Tensor {
	n, steps, in := x.Dim(0), x.Dim(1), x.Dim(2)
	hidden := l.Forth.State.Cols()
	flat := grad.Reshape(tp, x, n, steps*in)
	h, c := tp.Zeros(n, hidden), tp.Zeros(n, hidden)
	var states *tensor.Tensor // [n, steps·hidden]
	for t := range steps {
		h, c = grad.LSTM(tp, grad.Columns(tp, flat, t*in, (t+1)*in), h, c, l.Forth)
		if states == nil {
			states = h
		} else {
			states = grad.Concat(tp, states, h)
		}
	}
	forth := grad.Gather(tp, grad.Reshape(tp, states, n*steps, hidden), last, 1) // [n, hidden]
	end := grad.Gather(tp, grad.Reshape(tp, x, n*steps, in), last, 1)            // [n, in]
	zero := tp.Zeros(n, hidden)
	back, _ := grad.LSTM(tp, end, zero, zero, l.Back) // [n, hidden]
	return grad.Concat(tp, forth, back)
}
