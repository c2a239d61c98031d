package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// Linear is act(x·wᵀ + b): x [..., in], w [out, in], b [out] or nil → [..., out].
func Linear(tp *Tape, x, w, b *tensor.Tensor, act device.Act) *tensor.Tensor {
	if w.Rank() != 2 || x.Cols() != w.Cols() {
		panic(tensor.Mismatch("linear", "an input [..., in] and a weight [out, in]", x.Shape(), w.Shape()))
	}
	checkBias("linear", w, b)
	y := tp.Result(widened(x, w.Rows()).list(), x, w, b) // [..., out]
	if y.Len() == 0 {
		return y
	}
	g := device.Gemm{TransB: true, Bias: data(b), Act: act}
	if y.Tracked && readsInput(act) {
		g.Pre = tp.floats.alloc(y.Len()).Mat(y.Rows(), y.Cols())
	}
	tp.dev.MatMul(y.Mat(), x.Mat(), w.Mat(), g)
	record(tp, y, linear{x, w, b, y, g.Pre, act})
	return y
}

type linear struct {
	x, w, b, y *tensor.Tensor
	pre        device.Mat
	act        device.Act
}

func (o *linear) backward(tp *Tape, dz device.Mat) {
	tp.mapGrad(o.act, dz, o.pre, o.y.Mat(), device.Drop{})
	tp.biasGrad(o.b, dz)
	tp.weightGrad(o.w, dz, o.x.Mat())
	tp.product(o.x, dz, o.w.Mat(), device.Gemm{})
	tp.Recycle(dz.Buf)
	tp.Recycle(o.pre.Buf)
}

// Part is a term of LinearSum: X against the columns [Lo, Lo+X.Cols()) of the weight. An X of rank 1 is the same for
// every row.
type Part struct {
	X  *tensor.Tensor
	Lo int
}

// LinearSum is act(Σ x·w[:, lo:hi]ᵀ + b), Linear of a concatenation that is never made: parts X [..., hi−lo] or
// [hi−lo], w [out, in], b [out] or nil → [..., out]. At least one part has rows.
func LinearSum(tp *Tape, w, b *tensor.Tensor, act device.Act, parts ...Part) *tensor.Tensor {
	var rows *tensor.Tensor
	tracked := tp.Tracks(w, b)
	constants := false
	for _, p := range parts {
		if w.Rank() != 2 || p.Lo < 0 || p.Lo+p.X.Cols() > w.Cols() {
			panic(tensor.Mismatch("linear sum", "a part [..., c] that fits into the columns of a weight [out, in]",
				p.X.Shape(), w.Shape()))
		}
		tracked = tp.Tracks(p.X) || tracked
		switch {
		case p.X.Rank() == 1:
			constants = true
		case rows == nil:
			rows = p.X
		case p.X.Rows() != rows.Rows():
			panic(tensor.Mismatch("linear sum", "parts with as many rows as each other", rows.Shape(), p.X.Shape()))
		}
	}
	if rows == nil {
		panic(tensor.Mismatch("linear sum", "a part of rank 2 or more beside this weight", w.Shape()))
	}
	checkBias("linear sum", w, b)
	y := tp.New(widened(rows, w.Rows()).list()...) // [..., out]
	y.Tracked = tracked
	if y.Len() == 0 {
		return y
	}
	o := linearSum{w: w, b: b, y: y, act: act, parts: tp.partList(parts), constants: constants}
	o.forward(tp)
	record(tp, y, o)
	return y
}

type linearSum struct {
	w, b, y   *tensor.Tensor
	pre       device.Mat
	act       device.Act
	parts     []Part
	constants bool
}

func (o *linearSum) forward(tp *Tape) {
	out := o.w.Rows()
	g := device.Gemm{TransB: true, Bias: data(o.b)}
	if o.constants {
		g.Bias = tp.floats.alloc(out)
		if o.b != nil {
			tp.dev.Copy(g.Bias.Mat(1, out), o.b.Data.Mat(1, out))
		} else {
			tp.dev.Zero(g.Bias)
		}
		for _, p := range o.parts {
			if p.X.Rank() == 1 {
				tp.dev.MatMul(g.Bias.Mat(1, out), p.X.Mat(), o.columns(p), device.Gemm{TransB: true, Acc: true})
			}
		}
	}
	z := o.y.Mat()
	if o.y.Tracked && readsInput(o.act) {
		o.pre = tp.floats.alloc(o.y.Len()).Mat(z.Rows, z.Cols)
		z = o.pre
	}
	for _, p := range o.parts {
		if p.X.Rank() > 1 {
			tp.dev.MatMul(z, p.X.Mat(), o.columns(p), g)
			g = device.Gemm{TransB: true, Acc: true}
		}
	}
	if o.act != device.Identity {
		tp.dev.Map(o.act, o.y.Mat(), z)
	}
}

func (o *linearSum) backward(tp *Tape, dz device.Mat) {
	tp.mapGrad(o.act, dz, o.pre, o.y.Mat(), device.Drop{})
	var sum device.Buffer
	if o.constants {
		sum = tp.Scratch(dz.Cols)
		tp.dev.ColSum(sum, dz, false)
		if o.b != nil {
			tp.GiveCopy(o.b, sum.Mat(1, dz.Cols))
		}
	} else {
		tp.biasGrad(o.b, dz)
	}
	for _, p := range o.parts {
		d := dz
		if p.X.Rank() == 1 {
			d = sum.Mat(1, dz.Cols)
		}
		if o.w.Tracked {
			dw := tp.Accum(o.w).Columns(p.Lo, p.Lo+p.X.Cols())
			tp.dev.MatMul(dw, d, p.X.Mat(), device.Gemm{TransA: true, Acc: true})
		}
		tp.product(p.X, d, o.columns(p), device.Gemm{})
	}
	tp.Recycle(sum)
	tp.Recycle(dz.Buf)
	tp.Recycle(o.pre.Buf)
}

func (o *linearSum) columns(p Part) device.Mat { return o.w.Mat().Columns(p.Lo, p.Lo+p.X.Cols()) }

// LinearParts multiplies x with each of the p blocks of columns of w: y[s] = x·w[:, s·in:(s+1)·in]ᵀ;
// x [n, in], w [out, p·in] → [p, n, out].
func LinearParts(tp *Tape, x, w *tensor.Tensor) *tensor.Tensor {
	if x.Rank() != 2 || w.Rank() != 2 || x.Cols() == 0 || w.Cols()%x.Cols() != 0 {
		panic(tensor.Mismatch("linear parts", "an input [n, in] and a weight [out, p·in]", x.Shape(), w.Shape()))
	}
	p, n, out := w.Cols()/x.Cols(), x.Rows(), w.Rows()
	y := tp.Result([]int{p, n, out}, x, w)
	if y.Len() > 0 {
		tp.dev.MatMul(y.Data.Mat(n, out), x.Mat(), w.Mat().Columns(0, x.Cols()),
			device.Gemm{TransB: true, Batch: p, StepB: x.Cols(), StepC: n * out})
		record(tp, y, linearParts{x, w})
	}
	return y
}

type linearParts struct{ x, w *tensor.Tensor }

func (o *linearParts) backward(tp *Tape, dy device.Mat) {
	n, out, in := o.x.Rows(), o.w.Rows(), o.x.Cols()
	if o.w.Tracked {
		tp.dev.MatMul(tp.Accum(o.w).Columns(0, in), dy.Band(0, n), o.x.Mat(),
			device.Gemm{TransA: true, Acc: true, Batch: dy.Rows / n, StepA: n * out, StepC: in})
	}
	for s := range dy.Rows / n {
		tp.product(o.x, dy.Band(s*n, (s+1)*n), o.w.Mat().Columns(s*in, (s+1)*in), device.Gemm{})
	}
	tp.Recycle(dy.Buf)
}

// product adds A·B to the gradient of x.
func (tp *Tape) product(x *tensor.Tensor, a, b device.Mat, g device.Gemm) {
	if !x.Tracked || x.Len() == 0 {
		return
	}
	g.Acc = tp.adds(x)
	c := x.GradMat()
	if g.Batch > 1 {
		c.Rows /= g.Batch
	}
	tp.dev.MatMul(c, a, b, g)
}

// biasGrad adds the column sums of dz to the gradient of b.
func (tp *Tape) biasGrad(b *tensor.Tensor, dz device.Mat) {
	if b != nil && b.Tracked {
		tp.dev.ColSum(tp.Accum(b).Buf.Slice(0, dz.Cols), dz, true)
	}
}

// mapGrad turns the gradient after an activation and a dropout into the one before them, in place.
func (tp *Tape) mapGrad(act device.Act, dz, x, y device.Mat, drop device.Drop) {
	switch {
	case act == device.Identity:
		tp.drop(dz, drop)
	case readsInput(act):
		tp.dev.MapGrad(act, dz, x, device.Mat{}, dz, drop)
	default:
		tp.dev.MapGrad(act, dz, device.Mat{}, y, dz, drop)
	}
}

// readsInput reports whether the gradient of an activation is computed from its argument, not from its value.
func readsInput(act device.Act) bool {
	switch act {
	case device.GELU, device.SiLU, device.Softplus, device.Cos:
		return true
	}
	return false
}

func checkBias(op string, w, b *tensor.Tensor) {
	if b != nil && (b.Rows() != 1 || b.Cols() != w.Rows()) {
		panic(tensor.Mismatch(op, "a bias [out] for a weight [out, in]", b.Shape(), w.Shape()))
	}
}

// data is the memory of a dense tensor that may be missing.
func data(t *tensor.Tensor) device.Buffer {
	if t == nil {
		return device.Buffer{}
	}
	return t.Data.Slice(0, min(t.Len(), t.Data.Len))
}

// dims is a shape by value.
type dims struct {
	d [tensor.MaxRank]int
	n int
}

func (s *dims) list() []int { return s.d[:s.n] }

// widened is the shape of x with another last dimension.
func widened(x *tensor.Tensor, last int) *dims {
	s := dims{n: x.Rank()}
	copy(s.d[:], x.Shape())
	s.d[s.n-1] = last
	return &s
}

func (tp *Tape) partList(parts []Part) []Part {
	n := len(tp.parts)
	tp.parts = append(tp.parts, parts...)
	return tp.parts[n:len(tp.parts):len(tp.parts)]
}
