package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// MambaWeights are the weights of a Mamba block of width m, state size N and rank R.
type MambaWeights struct {
	ALog, Skip  *tensor.Tensor // [m, N], [m]
	In          *tensor.Tensor // [2m, m]
	Conv, ConvB *tensor.Tensor // [m, 1, K], [m]
	X           *tensor.Tensor // [R+2N, m]
	Dt, DtB     *tensor.Tensor // [m, R], [m]
	Out         *tensor.Tensor // [m, m]
}

// Mamba is a whole Mamba block (Gu and Dao, 2023; expansion 1): x [B, L, m] → [B, L, m].
//
//	[x | z] = X·Inᵀ               u = SiLU(conv(x))             [δ | B | C] = u·Xᵀ
//	Δ = softplus(δ·Dtᵀ + DtB)     y = scan(u, Δ, B, C)·SiLU(z)  result = y·Outᵀ
//
// It is one operation so that the parts of a projection are read in place as columns, and so that evaluation keeps
// nothing.
func Mamba(tp *Tape, x *tensor.Tensor, w *MambaWeights) *tensor.Tensor {
	w.check(x)
	y := tp.Result(x.Shape(), x, w.ALog, w.Skip, w.In, w.Conv, w.ConvB, w.X, w.Dt, w.DtB, w.Out)
	if y.Len() == 0 {
		return y
	}
	start := tp.floats.mark()
	o := mamba{x: x, y: y, w: *w}
	o.forward(tp)
	if !record(tp, y, o) {
		tp.floats.release(start)
	}
	return y
}

type mamba struct {
	x, y       *tensor.Tensor
	w          MambaWeights
	xz         device.Mat // [n, 2m]
	proj       device.Mat // [n, R+2N]
	pre, delta device.Mat // [n, m], before and after softplus
	conv       device.Conv
	scan       device.Scan
}

func (o *mamba) forward(tp *Tape) {
	w, n, m := &o.w, o.x.Rows(), o.x.Cols()
	rank, state := w.Dt.Cols(), w.ALog.Cols()
	rows := func(cols int) device.Mat { return tp.floats.alloc(n*cols).Mat(n, cols) }

	o.xz = rows(2 * m)
	tp.dev.MatMul(o.xz, o.x.Mat(), w.In.Mat(), device.Gemm{TransB: true})
	u := rows(m)
	o.conv = device.Conv{
		Batch: o.x.Dim(0), Len: o.x.Dim(1), Width: m, Kernel: w.Conv.Cols(),
		X: o.xz.Columns(0, m), W: w.Conv.Data, Bias: w.ConvB.Data, Y: u,
	}
	tp.dev.Conv(o.conv)
	o.proj = rows(rank + 2*state)
	tp.dev.MatMul(o.proj, u, w.X.Mat(), device.Gemm{TransB: true})
	o.delta = rows(m)
	g := device.Gemm{TransB: true, Bias: w.DtB.Data, Act: device.Softplus}
	if o.y.Tracked {
		o.pre = rows(m)
		g.Pre = o.pre
	}
	tp.dev.MatMul(o.delta, o.proj.Columns(0, rank), w.Dt.Mat(), g)
	o.scan = device.Scan{
		Batch: o.conv.Batch, Len: o.conv.Len, Width: m, State: state,
		U: u, Delta: o.delta, ALog: w.ALog.Data,
		B: o.proj.Columns(rank, rank+state), C: o.proj.Columns(rank+state, rank+2*state),
		Skip: w.Skip.Data, Gate: o.xz.Columns(m, 2*m), Y: rows(m),
	}
	tp.dev.Scan(o.scan)
	tp.dev.MatMul(o.y.Mat(), o.scan.Y, w.Out.Mat(), device.Gemm{TransB: true})
}

func (o *mamba) backward(tp *Tape, dout device.Mat) {
	w, n, m := &o.w, o.x.Rows(), o.x.Cols()
	rank, state := w.Dt.Cols(), w.ALog.Cols()
	rows := func(cols int) device.Mat { return tp.Scratch(n*cols).Mat(n, cols) }
	u := o.scan.U

	tp.weightGrad(w.Out, dout, o.scan.Y)
	dy := rows(m)
	tp.dev.MatMul(dy, dout, w.Out.Mat(), device.Gemm{})
	tp.Recycle(dout.Buf)
	tp.Recycle(o.scan.Y.Buf)

	du, ddelta, dproj, dxz := rows(m), rows(m), rows(rank+2*state), rows(2*m)
	tp.dev.ScanGrad(device.ScanGrad{
		Scan: o.scan, DY: dy, DU: du, DDelta: ddelta,
		DB: dproj.Columns(rank, rank+state), DC: dproj.Columns(rank+state, rank+2*state), DGate: dxz.Columns(m, 2*m),
		DALog: tp.sink(w.ALog), DSkip: tp.sink(w.Skip),
	})
	tp.dev.MapGrad(device.Softplus, ddelta, o.pre, device.Mat{}, ddelta, device.Drop{})
	tp.biasGrad(w.DtB, ddelta)
	tp.weightGrad(w.Dt, ddelta, o.proj.Columns(0, rank))
	tp.dev.MatMul(dproj.Columns(0, rank), ddelta, w.Dt.Mat(), device.Gemm{})
	tp.weightGrad(w.X, dproj, u)
	tp.dev.MatMul(du, dproj, w.X.Mat(), device.Gemm{Acc: true})
	tp.dev.ConvGrad(device.ConvGrad{Conv: o.conv, DY: du, DX: dxz.Columns(0, m), DW: tp.sink(w.Conv),
		DBias: tp.sink(w.ConvB)})
	tp.weightGrad(w.In, dxz, o.x.Mat())
	tp.product(o.x, dxz, w.In.Mat(), device.Gemm{})

	for _, b := range [...]device.Mat{dy, du, ddelta, dproj, dxz, u, o.xz, o.proj, o.pre, o.delta} {
		tp.Recycle(b.Buf)
	}
}

// weightGrad adds dyᵀ·x to the gradient of a weight.
func (tp *Tape) weightGrad(w *tensor.Tensor, dy, x device.Mat) {
	if w.Tracked {
		tp.dev.MatMul(tp.Accum(w), dy, x, device.Gemm{TransA: true, Acc: true})
	}
}

func (w *MambaWeights) check(x *tensor.Tensor) {
	m, n, r := x.Cols(), w.ALog.Cols(), w.Dt.Cols()
	want := func(t *tensor.Tensor, rows, cols int) {
		if t.Rows() != rows || t.Cols() != cols || !t.Dense() {
			panic(tensor.Mismatch("mamba", "weights of the width of the sequence [B, L, m]", x.Shape(), t.Shape()))
		}
	}
	if x.Rank() != 3 {
		panic(tensor.Mismatch("mamba", "a sequence [B, L, m]", x.Shape(), w.In.Shape()))
	}
	want(w.ALog, m, n)
	want(w.Skip, 1, m)
	want(w.In, 2*m, m)
	want(w.Conv, m, w.Conv.Cols())
	want(w.ConvB, 1, m)
	want(w.X, r+2*n, m)
	want(w.Dt, m, r)
	want(w.DtB, 1, m)
	want(w.Out, m, m)
}
