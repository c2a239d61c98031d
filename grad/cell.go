package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// CellWeights are the weights of a recurrent cell whose gates together are G wide: H (RNN), 3H (GRU) or 4H (LSTM).
type CellWeights struct {
	In, InBias       *tensor.Tensor // [G, in], [G]
	State, StateBias *tensor.Tensor // [G, H], [G]
}

// products are the input's and the state's parts of the gates, [n, G] each.
func (w *CellWeights) products(tp *Tape, op string, gates int, x, h *tensor.Tensor) (gx, gh *tensor.Tensor) {
	if h.Rank() != 2 || x.Rank() != 2 || x.Rows() != h.Rows() || w.In.Rows() != gates*h.Cols() ||
		w.State.Rows() != gates*h.Cols() {
		panic(tensor.Mismatch(op, "an input [n, in], a state [n, H] and weights of all gates", x.Shape(), h.Shape(),
			w.In.Shape(), w.State.Shape()))
	}
	return Linear(tp, x, w.In, w.InBias, device.Identity), Linear(tp, h, w.State, w.StateBias, device.Identity)
}

// RNN is one step of a plain recurrent cell, tanh(W_i·x + b_i + W_h·h + b_h): x [n, in], h [n, H] → [n, H].
func RNN(tp *Tape, x, h *tensor.Tensor, w CellWeights) *tensor.Tensor {
	gx, gh := w.products(tp, "rnn", 1, x, h)
	return Apply(tp, device.Tanh, Add(tp, gx, gh))
}

// GRU is one step of a gated recurrent unit, gates in the order r z n: x [n, in], h [n, H] → [n, H].
func GRU(tp *Tape, x, h *tensor.Tensor, w CellWeights) *tensor.Tensor {
	gx, gh := w.products(tp, "gru", 3, x, h)
	y := tp.Result(h.Shape(), gx, gh, h)
	if y.Len() == 0 {
		return y
	}
	c := device.Cell{X: gx.Mat(), H: gh.Mat(), State: h.Mat(), NewState: y.Mat()}
	tp.dev.GRU(c)
	record(tp, y, gru{gx, gh, h, c})
	return y
}

type gru struct {
	gx, gh, h *tensor.Tensor
	cell      device.Cell
}

func (o *gru) backward(tp *Tape, dy device.Mat) {
	g := device.CellGrad{Cell: o.cell, DNewState: dy, DX: tp.scratchLike(o.cell.X), DH: tp.scratchLike(o.cell.H),
		DState: tp.scratchLike(dy)}
	tp.dev.GRUGrad(g)
	tp.Give(o.gx, g.DX.Buf)
	tp.Give(o.gh, g.DH.Buf)
	tp.Give(o.h, g.DState.Buf)
	tp.Recycle(dy.Buf)
}

// LSTM is one step of a long short-term memory, gates in the order i f g o: x [n, in], state h and carry c [n, H] → new
// state and carry.
func LSTM(tp *Tape, x, h, c *tensor.Tensor, w CellWeights) (state, carry *tensor.Tensor) {
	gx, gh := w.products(tp, "lstm", 4, x, h)
	if !tensor.SameShape(h, c) {
		panic(tensor.Mismatch("lstm", "a carry of the shape of the state", h.Shape(), c.Shape()))
	}
	return LSTMGates(tp, gx, gh, c)
}

// LSTMGates is LSTM for a caller that has computed what the input and the old state add to the gates, gx and gh
// [n, 4H], both with their biases: many steps may share either.
func LSTMGates(tp *Tape, gx, gh, c *tensor.Tensor) (state, carry *tensor.Tensor) {
	if c.Rank() != 2 || !tensor.SameShape(gx, gh) || gx.Rows() != c.Rows() || gx.Cols() != 4*c.Cols() {
		want := "two parts of the gates [n, 4H] and a carry [n, H]"
		panic(tensor.Mismatch("lstm", want, gx.Shape(), gh.Shape(), c.Shape()))
	}
	state, carry = tp.Result(c.Shape(), gx, gh, c), tp.Result(c.Shape(), gx, gh, c)
	if state.Len() == 0 {
		return state, carry
	}
	cell := device.Cell{X: gx.Mat(), H: gh.Mat(), NewState: state.Mat(), Carry: c.Mat(), NewCarry: carry.Mat()}
	tp.dev.LSTM(cell)
	if state.Tracked {
		Record(tp, lstm{gx, gh, c, state, carry, cell})
	}
	return state, carry
}

type lstm struct {
	gx, gh, c, state, carry *tensor.Tensor
	cell                    device.Cell
}

func (o *lstm) Backward(tp *Tape) {
	n, c := o.state.Rows(), o.state.Cols()
	ds, dc := tp.Take(o.state), tp.Take(o.carry)
	if ds.Len == 0 && dc.Len == 0 {
		return
	}
	ds, dc = tp.orZero(ds, n*c), tp.orZero(dc, n*c)
	g := device.CellGrad{
		Cell: o.cell, DNewState: ds.Mat(n, c), DNewCarry: dc.Mat(n, c),
		DX: tp.scratchLike(o.cell.X), DH: tp.scratchLike(o.cell.H), DCarry: tp.scratchLike(o.cell.Carry),
	}
	tp.dev.LSTMGrad(g)
	tp.Give(o.gx, g.DX.Buf)
	tp.Give(o.gh, g.DH.Buf)
	tp.Give(o.c, g.DCarry.Buf)
	tp.Recycle(ds)
	tp.Recycle(dc)
}

// orZero is b, or n zeros where no gradient arrived.
func (tp *Tape) orZero(b device.Buffer, n int) device.Buffer {
	if b.Len == 0 {
		b = tp.Scratch(n)
		tp.dev.Zero(b)
	}
	return b
}
