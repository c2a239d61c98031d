// Package tensor answers: which shape lies on which memory?
//
// A Tensor is a small header: up to four dimensions over a device's buffer, and where its gradient is. Package grad
// computes with tensors; nothing here runs a kernel.
package tensor

import "github.com/dygmamba/dygmamba/device"

// MaxRank is the largest number of dimensions.
const MaxRank = 4

// Tensor is a row-major array of float32 on a device. All dimensions but the last are dense over rows; rows may lie
// apart (Stride > last dimension) in views of columns.
type Tensor struct {
	Data   device.Buffer
	Stride int // from one row to the next in Data

	// Tracked says that a gradient is wanted. Grad is empty until one has arrived, except in parameters, whose gradient
	// is always there and is added to.
	Tracked    bool
	Grad       device.Buffer
	GradStride int

	// Of is the parameter that this tensor is a part of (itself, if whole), nil otherwise. Touched is set in parameters
	// that a backward pass reached.
	Of      *Tensor
	Touched bool

	dims [MaxRank]int
	rank int
}

// Set gives t a shape on dense data and clears everything else.
func (t *Tensor) Set(data device.Buffer, shape ...int) {
	*t = Tensor{Data: data}
	t.SetShape(shape)
}

// SetShape changes the dimensions; rows become dense.
func (t *Tensor) SetShape(shape []int) {
	if len(shape) == 0 || len(shape) > MaxRank {
		panic(Mismatch("shape", "1 to 4 dimensions", shape))
	}
	for _, d := range shape {
		if d < 0 {
			panic(Mismatch("shape", "no negative dimension", shape))
		}
	}
	t.rank = copy(t.dims[:], shape)
	t.Stride = t.Cols()
	t.GradStride = t.Stride
}

// Shape is the list of dimensions; do not modify it.
func (t *Tensor) Shape() []int { return t.dims[:t.rank] }

// Rank is the number of dimensions.
func (t *Tensor) Rank() int { return t.rank }

// Dim is dimension i; negative i counts from the end.
func (t *Tensor) Dim(i int) int {
	if i < 0 {
		i += t.rank
	}
	return t.dims[i]
}

// Cols is the last dimension.
func (t *Tensor) Cols() int { return t.dims[t.rank-1] }

// Rows is the product of all dimensions but the last.
func (t *Tensor) Rows() int {
	n := 1
	for _, d := range t.dims[:t.rank-1] {
		n *= d
	}
	return n
}

// Len is the number of elements.
func (t *Tensor) Len() int { return t.Rows() * t.Cols() }

// Dense reports whether the elements follow each other without gaps.
func (t *Tensor) Dense() bool { return t.Stride == t.Cols() || t.Rows() <= 1 }

// Mat views the data as a matrix [Rows, Cols].
func (t *Tensor) Mat() device.Mat {
	return device.Mat{Buf: t.Data, Rows: t.Rows(), Cols: t.Cols(), Stride: t.Stride}
}

// GradMat views the gradient as a matrix [Rows, Cols]; it is not given while there is no gradient.
func (t *Tensor) GradMat() device.Mat {
	if t.Grad.Len == 0 {
		return device.Mat{}
	}
	return device.Mat{Buf: t.Grad, Rows: t.Rows(), Cols: t.Cols(), Stride: t.GradStride}
}

// SameShape reports whether a and b have equal dimensions.
func SameShape(a, b *Tensor) bool { return a.rank == b.rank && a.dims == b.dims }
