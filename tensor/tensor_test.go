package tensor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/tensor"
)

func TestShape(t *testing.T) {
	var x tensor.Tensor
	x.Set(device.Buffer{Host: make([]float32, 24), Len: 24}, 2, 3, 4)
	if x.Rank() != 3 || x.Dim(0) != 2 || x.Dim(-1) != 4 || x.Rows() != 6 || x.Cols() != 4 || x.Len() != 24 ||
		!x.Dense() || !slices.Equal(x.Shape(), []int{2, 3, 4}) {
		t.Errorf("a tensor of shape [2 3 4] is %v: %d rows, %d columns", x.Shape(), x.Rows(), x.Cols())
	}
	if m := x.Mat(); m.Rows != 6 || m.Cols != 4 || m.Stride != 4 || m.Buf.Len != 24 {
		t.Errorf("as a matrix it is %d×%d, stride %d", m.Rows, m.Cols, m.Stride)
	}
	if x.GradMat().Given() {
		t.Error("a new tensor has a gradient")
	}
	x.Stride = 7
	if x.Dense() {
		t.Error("rows that lie apart count as dense")
	}
	var y tensor.Tensor
	y.Set(device.Buffer{}, 2, 3)
	if tensor.SameShape(&x, &y) || !tensor.SameShape(&y, &y) {
		t.Error("shapes are compared wrongly")
	}
}

func TestGuard(t *testing.T) {
	failures := []error{
		tensor.Mismatch("product", "equal widths", []int{2, 3}, []int{4}),
		&device.OutOfMemory{Device: "cpu", Need: 1 << 30, Free: 1 << 20},
		&device.Failure{Device: "gpu", Call: "launch", Reason: "no"},
	}
	for _, f := range failures {
		if err := tensor.Guard(func() { panic(f) }); !errors.Is(err, f) {
			t.Errorf("got %v, want %v", err, f)
		}
	}
	if want := "product: got [2×3] and [4], want equal widths"; failures[0].Error() != want {
		t.Errorf("got %q, want %q", failures[0].Error(), want)
	}
	if err := tensor.Guard(func() {}); err != nil {
		t.Errorf("nothing went wrong, got %v", err)
	}
	defer func() {
		if p := recover(); p != "other" {
			t.Errorf("another panic became %v", p)
		}
	}()
	tensor.Guard(func() { panic("other") })
}

func TestBadShape(t *testing.T) {
	for _, shape := range [][]int{{}, {1, 2, 3, 4, 5}, {2, -1}} {
		err := tensor.Guard(func() { new(tensor.Tensor).SetShape(shape) })
		if err == nil || !strings.HasPrefix(err.Error(), "shape: got ") {
			t.Errorf("shape %v: got %v", shape, err)
		}
	}
}
