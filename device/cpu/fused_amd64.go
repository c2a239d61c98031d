package cpu

import (
	"unsafe"

	"github.com/dygmamba/dygmamba/device"
)

func (f *fused) useVectors() {
	f.rows = rowLoops{dot: dotVector, sum: sumVector, axpy: axpyVector, softmax: softmaxVector}
	f.forms = forms{scanTable: scanTableVector, scan: scanVector, scanGrad: scanGradVector, convTable: convTableVector,
		conv: convVector, convGrad: convGradVector, norm: normVector, normGrad: normGradVector, gather: gatherVector,
		scatter: scatterVector, products: productsVector}
}

// The arguments of longer vector loops are structs of addresses. They are uintptr, not pointers, because the loops move
// them past the ends of arrays; the arrays themselves are held by the task or by the device.

// place is the address of m[r, c] and the distance of rows in bytes.
func place(m device.Mat, r, c int) (at uintptr, step int) {
	return addr(&m.Buf.Host[r*m.Stride+c]), 4 * m.Stride
}

func addr(p *float32) uintptr { return uintptr(unsafe.Pointer(p)) }

// laneMasks[8−k:] has k lanes in use.
var laneMasks = [2 * lanes]int32{-1, -1, -1, -1, -1, -1, -1, -1}

func laneMask(k int) uintptr { return uintptr(unsafe.Pointer(&laneMasks[lanes-k])) }

// columns cuts rows of cols numbers into whole vectors (their bytes), a rest, and the rest's mask.
func columns(cols int) (whole, tail int, mask uintptr) {
	tail = cols % lanes
	return 4 * (cols - tail), tail, laneMask(tail)
}
