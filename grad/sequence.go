package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Conv is a causal depthwise convolution with SiLU: x [B, L, D], w [D, K] or [D, 1, K], bias [D] → [B, L, D].
func Conv(tp *Tape, x, w, bias *tensor.Tensor) *tensor.Tensor {
	if x.Rank() != 3 || w.Rows() != x.Cols() || bias.Len() != x.Cols() || !w.Dense() {
		panic(tensor.Mismatch("conv", "a sequence [B, L, D], a weight [D, K] and a bias [D]", x.Shape(), w.Shape(),
			bias.Shape()))
	}
	y := tp.Result(x.Shape(), x, w, bias)
	if y.Len() == 0 {
		return y
	}
	c := device.Conv{Batch: x.Dim(0), Len: x.Dim(1), Width: x.Dim(2), Kernel: w.Cols(), X: x.Mat(), W: data(w),
		Bias: data(bias), Y: y.Mat()}
	tp.dev.Conv(c)
	if y.Tracked {
		Record(tp, conv{x, w, bias, y, c})
	}
	return y
}

type conv struct {
	x, w, bias, y *tensor.Tensor
	conv          device.Conv
}

func (o *conv) Backward(tp *Tape) {
	g := tp.Take(o.y)
	if g.Len == 0 {
		return
	}
	dx := tp.Scratch(g.Len)
	rows, cols := o.y.Rows(), o.y.Cols()
	tp.dev.ConvGrad(device.ConvGrad{Conv: o.conv, DY: g.Mat(rows, cols), DX: dx.Mat(rows, cols), DW: tp.sink(o.w),
		DBias: tp.sink(o.bias)})
	tp.Give(o.x, dx)
	tp.Recycle(g)
}

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
	if y.Tracked {
		Record(tp, scan{a, s, y})
	}
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
	y    *tensor.Tensor
}

func (o *scan) Backward(tp *Tape) {
	g := tp.Take(o.y)
	if g.Len == 0 {
		return
	}
	a, s := &o.args, &o.scan
	rows, d, n := o.y.Rows(), s.Width, s.State
	du, dd := tp.Scratch(rows*d), tp.Scratch(rows*d)
	db, dc := tp.Scratch(rows*n), tp.Scratch(rows*n)
	sg := device.ScanGrad{
		Scan: *s, DY: g.Mat(rows, d), DU: du.Mat(rows, d), DDelta: dd.Mat(rows, d), DB: db.Mat(rows, n),
		DC: dc.Mat(rows, n), DALog: tp.sink(a.ALog), DSkip: tp.sink(a.Skip),
	}
	if a.Gate != nil {
		sg.DGate = tp.Scratch(rows*d).Mat(rows, d)
	}
	tp.dev.ScanGrad(sg)
	tp.Give(a.U, du)
	tp.Give(a.Delta, dd)
	tp.Give(a.B, db)
	tp.Give(a.C, dc)
	if a.Gate != nil {
		tp.Give(a.Gate, sg.DGate.Buf)
	}
	tp.Recycle(g)
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
	if y.Tracked {
		Record(tp, timeCode{w, bias, y, t})
	}
	return y
}

type timeCode struct {
	w, bias, y *tensor.Tensor
	code       device.TimeCode
}

func (o *timeCode) Backward(tp *Tape) {
	g := tp.Take(o.y)
	if g.Len == 0 {
		return
	}
	tp.dev.TimeCodeGrad(device.TimeCodeGrad{TimeCode: o.code, DY: g.Mat(o.y.Rows(), o.y.Cols()), DW: tp.sink(o.w),
		DBias: tp.sink(o.bias)})
	tp.Recycle(g)
}
