package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// ScanArgs are the inputs of Scan. Skip and Gate may be nil.
type ScanArgs struct {
	U, Delta   *tensor.Tensor // [B, L, D]
	ALog       *tensor.Tensor // [D, N]; A = −exp(ALog)
	B, C       *tensor.Tensor // [B, L, N]
	Skip, Gate *tensor.Tensor // [D], [B, L, D]
	Exact      bool           // B̄ = (exp(ΔA)−1)/A·B instead of Δ·B
}

// Scan is the selective state space recurrence (see device.Scan) → [B, L, D].
func Scan(tp *Tape, a ScanArgs) *tensor.Tensor {
	a.check()
	y := tp.Result(a.U.Shape(), a.U, a.Delta, a.ALog, a.B, a.C, a.Skip, a.Gate)
	if y.Len() == 0 {
		return y
	}
	s := device.Scan{
		Batch: a.U.Dim(0), Len: a.U.Dim(1), Width: a.U.Dim(2), State: a.ALog.Cols(),
		U: a.U.Mat(), Delta: a.Delta.Mat(), ALog: data(a.ALog), B: a.B.Mat(), C: a.C.Mat(), Skip: data(a.Skip),
		Exact: a.Exact, Y: y.Mat(),
	}
	if a.Gate != nil {
		s.Gate = a.Gate.Mat()
	}
	tp.dev.Scan(s)
	record(tp, y, scan{a, s})
	return y
}

func (a *ScanArgs) check() {
	u, n := a.U, a.ALog.Cols()
	ok := u.Rank() == 3 && tensor.SameShape(u, a.Delta) && a.ALog.Rows() == u.Cols() && a.ALog.Dense() &&
		a.B.Cols() == n && a.C.Cols() == n && a.B.Rows() == u.Rows() && a.C.Rows() == u.Rows()
	if !ok {
		panic(tensor.Mismatch("scan", "u and delta [B, L, D], A [D, N], B and C [B, L, N]", u.Shape(), a.Delta.Shape(),
			a.ALog.Shape(), a.B.Shape(), a.C.Shape()))
	}
	if a.Skip != nil && a.Skip.Len() != u.Cols() {
		panic(tensor.Mismatch("scan", "a skip [D] for u [B, L, D]", a.Skip.Shape(), u.Shape()))
	}
	if a.Gate != nil && !tensor.SameShape(a.Gate, u) {
		panic(tensor.Mismatch("scan", "a gate of the shape of u", a.Gate.Shape(), u.Shape()))
	}
}

type scan struct {
	args ScanArgs
	scan device.Scan
}

func (o *scan) backward(tp *Tape, dy device.Mat) {
	a, s := &o.args, &o.scan
	g := device.ScanGrad{
		Scan: *s, DY: dy, DU: tp.scratchLike(dy), DDelta: tp.scratchLike(dy), DB: tp.scratchLike(s.B),
		DC: tp.scratchLike(s.C), DALog: tp.sink(a.ALog), DSkip: tp.sink(a.Skip),
	}
	if a.Gate != nil {
		g.DGate = tp.scratchLike(dy)
	}
	tp.dev.ScanGrad(g)
	tp.Give(a.U, g.DU.Buf)
	tp.Give(a.Delta, g.DDelta.Buf)
	tp.Give(a.B, g.DB.Buf)
	tp.Give(a.C, g.DC.Buf)
	if a.Gate != nil {
		tp.Give(a.Gate, g.DGate.Buf)
	}
	tp.Recycle(dy.Buf)
}

// TimeCode is cos(w·delta + bias), computed for arguments up to 1e10 as device.TimeCode says: delta [...] with weights
// w and bias of d numbers → [..., d]. Rows whose mask is 0 are zero; an empty mask masks nothing. No gradient flows
// into delta.
func TimeCode(tp *Tape, delta, w, bias *tensor.Tensor, mask device.Ints) *tensor.Tensor {
	n := delta.Len()
	if delta.Rank() == tensor.MaxRank || !delta.Dense() || w.Len() != bias.Len() || mask.Len != 0 && mask.Len != n {
		panic(tensor.Mismatch("time code", "dense times [...], as many weights as biases, a mask as long as the times",
			delta.Shape(), w.Shape(), bias.Shape(), []int{mask.Len}))
	}
	shape := dims{n: delta.Rank() + 1}
	copy(shape.d[:], delta.Shape())
	shape.d[shape.n-1] = w.Len()
	y := tp.Result(shape.list(), w, bias)
	if y.Len() == 0 {
		return y
	}
	t := device.TimeCode{Delta: data(delta), W: data(w), Bias: data(bias), Mask: mask, Y: y.Mat()}
	tp.dev.TimeCode(t)
	record(tp, y, timeCode{w, bias, t})
	return y
}

type timeCode struct {
	w, bias *tensor.Tensor
	code    device.TimeCode
}

func (o *timeCode) backward(tp *Tape, dy device.Mat) {
	tp.dev.TimeCodeGrad(device.TimeCodeGrad{TimeCode: o.code, DY: dy, DW: tp.sink(o.w), DBias: tp.sink(o.bias)})
	tp.Recycle(dy.Buf)
}
