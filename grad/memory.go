package grad

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

// New makes a dense tensor of unknown content that wants no gradient.
func (tp *Tape) New(shape ...int) *tensor.Tensor {
	t := tp.header(shape)
	t.Data = tp.floats.alloc(t.Len())
	return t
}

// Result makes a dense tensor of unknown content for the result of an operation on the given inputs (nil ones are
// ignored): it wants a gradient when one of them does and the tape records.
func (tp *Tape) Result(shape []int, inputs ...*tensor.Tensor) *tensor.Tensor {
	t := tp.New(shape...)
	t.Tracked = tp.Tracks(inputs...)
	return t
}

// Tracks reports whether the tape records and one of the tensors wants a gradient.
func (tp *Tape) Tracks(inputs ...*tensor.Tensor) bool {
	tracks := false
	if tp.record {
		for _, x := range inputs {
			if x != nil && x.Tracked {
				tp.note(x)
				tracks = true
			}
		}
	}
	return tracks
}

// Scratch returns n floats of unknown content for a backward pass. Give or Recycle ends their use.
func (tp *Tape) Scratch(n int) device.Buffer { return tp.floats.reuse(n) }

// scratchLike is scratch of the shape of m, dense.
func (tp *Tape) scratchLike(m device.Mat) device.Mat {
	return tp.Scratch(m.Rows*m.Cols).Mat(m.Rows, m.Cols)
}

// Recycle takes back memory of Scratch, or memory that an operation kept for its backward pass.
func (tp *Tape) Recycle(b device.Buffer) { tp.floats.recycle(b) }

// Take removes and returns the gradient of y, an operation's result, dense. It is empty when none arrived: nothing that
// followed depended on y. The caller gives it on or recycles it.
func (tp *Tape) Take(y *tensor.Tensor) device.Buffer {
	g := y.Grad
	y.Grad = device.Buffer{}
	return g
}

// Give adds g, dense and of Scratch, to the gradient of x. It is the tape's from then on.
func (tp *Tape) Give(x *tensor.Tensor, g device.Buffer) {
	switch {
	case !x.Tracked:
		tp.Recycle(g)
	case x.Grad.Len == 0:
		x.Grad, x.GradStride = g, x.Cols()
	default:
		tp.touch(x)
		tp.add(x.GradMat(), g.Mat(x.Rows(), x.Cols()))
		tp.Recycle(g)
	}
}

// GiveCopy is Give for a gradient that the caller keeps.
func (tp *Tape) GiveCopy(x *tensor.Tensor, g device.Mat) {
	switch {
	case !x.Tracked:
	case tp.adds(x):
		tp.add(x.GradMat(), g)
	default:
		tp.dev.Copy(x.GradMat(), g)
	}
}

// adds reports whether a gradient of x has arrived, to which the next is added; otherwise it makes room for the first.
func (tp *Tape) adds(x *tensor.Tensor) bool {
	if x.Grad.Len > 0 {
		tp.touch(x)
		return true
	}
	x.Grad, x.GradStride = tp.Scratch(x.Len()), x.Cols()
	return false
}

// Accum returns the gradient of x ready to be added to: zero if none has arrived yet. x is tracked.
func (tp *Tape) Accum(x *tensor.Tensor) device.Mat {
	tp.touch(x)
	if x.Grad.Len == 0 {
		x.Grad, x.GradStride = tp.Scratch(x.Len()), x.Cols()
		tp.zero(x.Grad)
	}
	return x.GradMat()
}

func (tp *Tape) add(y, x device.Mat) {
	if y.Rows > 0 && y.Cols > 0 {
		tp.dev.Zip(device.Add, y, y, x)
	}
}

func (tp *Tape) zero(b device.Buffer) {
	if b.Len > 0 {
		tp.dev.Zero(b)
	}
}

// header makes a tensor without memory.
func (tp *Tape) header(shape []int) *tensor.Tensor {
	t := tp.tensors.next()
	*t = tensor.Tensor{}
	t.SetShape(shape)
	return t
}
