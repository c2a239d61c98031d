//go:build linux && !nogpu

package cuda

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
)

// MatMul computes C = A·B with cuBLAS, then bias, activation and dropout in one kernel. cuBLAS thinks in columns: a
// row-major C = A·B is its Cᵀ = Bᵀ·Aᵀ, the same memory with the operands exchanged.
func (d *Device) MatMul(c, a, b device.Mat, g device.Gemm) {
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	k := a.Cols
	if g.TransA {
		k = a.Rows
	}
	batch := max(1, g.Batch)
	if k == 0 {
		for i := 0; i < batch && !g.Acc; i++ {
			d.with().mat(at(c, i*g.StepC)).size(c.Rows).size(c.Cols).float(0)
			d.over("fill", c.Rows*c.Cols, c.Rows, c.Cols)
		}
	} else if d.mode != replaying {
		d.product(c, a, b, g, k, batch, &d.one)
	}
	if g.Bias.Len == 0 && g.Act == device.Identity && !g.Pre.Given() && g.Drop.Rate <= 0 {
		return
	}
	bias, drop := g.Bias.Mat(1, g.Bias.Len), g.Drop
	if !c.Dense() || width(c, bias, g.Pre) < 4 {
		drop.Rate = 0 // not by this kernel
	}
	for i := range batch {
		cm := at(c, i*g.StepC)
		d.with().num(int(g.Act)).mat(cm).buf(g.Bias).mat(g.Pre).size(c.Rows).size(c.Cols).drop(drop)
		d.pointwise("bias_act", cm, bias, g.Pre)
	}
	if drop.Rate != g.Drop.Rate {
		d.Dropout(c, c, g.Drop)
	}
}

// product computes alpha·A·B.
func (d *Device) product(c, a, b device.Mat, g device.Gemm, k, batch int, alpha *float32) {
	d.enter()
	defer d.leave()
	if d.mode == capturing {
		waits, space := d.order.addProduct([]access{batched(a, batch, g.StepA, false),
			batched(b, batch, g.StepB, false), batched(c, batch, g.StepC, true)})
		d.await(waits)
		d.check("cublasSetWorkspace", call(d.blas.setWorkspace, d.handle, d.workspaces[space], blasWorkspace))
	}
	beta := &d.zero
	if g.Acc {
		beta = &d.one
	}
	m, n := uintptr(c.Rows), uintptr(c.Cols)
	var r int
	if batch == 1 {
		r = call(d.blas.gemm, d.handle, trans(g.TransB), trans(g.TransA), n, m, uintptr(k), ptr(alpha),
			b.Buf.Addr, lead(b), a.Buf.Addr, lead(a), ptr(beta), c.Buf.Addr, lead(c))
	} else {
		r = call(d.blas.gemmBatched, d.handle, trans(g.TransB), trans(g.TransA), n, m, uintptr(k), ptr(alpha),
			b.Buf.Addr, lead(b), uintptr(g.StepB), a.Buf.Addr, lead(a), uintptr(g.StepA), ptr(beta), c.Buf.Addr,
			lead(c), uintptr(g.StepC), uintptr(batch))
	}
	if r != 0 {
		panic(&device.Failure{Device: d.name, Reason: fmt.Sprintf("cuBLAS status %d", r),
			Call: fmt.Sprintf("MatMul of %d×%d by %d×%d, %d times (transposed: %v, %v)",
				c.Rows, k, k, c.Cols, batch, g.TransA, g.TransB)})
	}
	d.captured()
}

// batched is the memory of a batch of matrices, each step floats after the one before.
func batched(m device.Mat, batch, step int, write bool) access {
	a := accessOf(m, write)
	switch {
	case batch == 1 || a.empty():
	case step == a.rows*a.stride: // they follow each other
		a.rows *= batch
	case step == 0: // always the same
	default:
		a.rows, a.cols, a.stride = batch, (a.rows-1)*a.stride+a.cols, step
	}
	return a
}

func trans(t bool) uintptr {
	if t {
		return 1
	}
	return 0
}

// Rounds reports whether products may round their operands to TF32.
func (d *Device) Rounds() bool { return d.tf32 }

// Round lets them do so from here on, or not. A recorded step keeps to what it was recorded with.
func (d *Device) Round(on bool) {
	if !d.tf32 || on == d.rounding {
		return
	}
	if err := d.setMath(on); err != nil {
		panic(&device.Failure{Device: d.name, Call: "cublasSetMathMode", Reason: err.Error()})
	}
}

func (d *Device) setMath(rounded bool) error {
	mode := uintptr(0) // CUBLAS_DEFAULT_MATH: float32 all the way
	if rounded {
		mode = 3 // CUBLAS_TF32_TENSOR_OP_MATH
	}
	if r := call(d.blas.setMath, d.handle, mode); r != 0 {
		return fmt.Errorf("cublasSetMathMode: status %d", r)
	}
	d.rounding = rounded
	return nil
}

// lead is the distance between rows as cuBLAS accepts it.
func lead(m device.Mat) uintptr { return uintptr(max(m.Stride, m.Cols, 1)) }

// at is m, offset floats further on.
func at(m device.Mat, offset int) device.Mat {
	m.Buf.Addr += 4 * uintptr(offset)
	return m
}
