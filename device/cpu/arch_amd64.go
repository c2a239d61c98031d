package cpu

import (
	"unsafe"

	"github.com/dygmamba/dygmamba/device"
	"golang.org/x/sys/cpu"
)

// vectors says whether this machine can run the vector forms.
var vectors = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// vector are the loops in assembly.
var vector = loops{
	maps: [acts]func(y, x []float32){
		device.Identity: identityPlain, device.ReLU: reluVector, device.GELU: geluVector, device.SiLU: siluVector,
		device.Sigmoid: sigmoidVector, device.Tanh: tanhVector, device.Softplus: softplusVector, device.Exp: expVector,
		device.Cos: cosAny,
	},
	grads: [acts]func(dx, x, y, dy []float32){
		device.Identity: identityGradPlain, device.ReLU: reluGradVector, device.GELU: geluGradVector,
		device.SiLU: siluGradVector, device.Sigmoid: sigmoidGradVector, device.Tanh: tanhGradVector,
		device.Softplus: softplusGradVector, device.Exp: expGradVector, device.Cos: cosGradAny,
	},
	zips: [ops]func(z, x, y []float32){device.Add: addVector, device.Sub: subVector, device.Mul: mulVector},
	zipsOne: [ops]func(z, x []float32, v float32){
		device.Add: addOneVector, device.Sub: subOneVector, device.Mul: mulOneVector,
	},
	draw: drawVector, keep: keepVector, drop: dropVector, dot: dotVector, sum: sumVector, axpy: axpyVector,
	softmax: softmaxVector, colSum: colSumVector, code: codeAny, codeGrad: codeGradAny, adam: adamVector,
	sgd: sgdAny, rmsprop: rmspropVector, fma: fma8,
	tile:      tiles{wide: tile6x16, narrow: tile12x8, take16: take16, take8: take8, turn: turn8},
	scanTable: scanTableVector, scan: scanVector, scanGrad: scanGradVector, convTable: convTableVector,
	conv: convVector, convGrad: convGradVector, norm: normVector, normGrad: normGradVector, gather: gatherVector,
	scatter: scatterVector, products: productsVector,
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

//go:noescape
func drawVector(words []uint32, first uint64, stream, key0, key1 uint32)

//go:noescape
func keepVector(y, x []float32, words []uint32, least uint32, scale float32)

//go:noescape
func dropVector(y, x []float32, first uint64, stream, key0, key1, least uint32, scale float32)

//go:noescape
func dotVector(x, y []float32) float32

//go:noescape
func sumVector(x []float32) float32

//go:noescape
func axpyVector(y, x []float32, k float32)

//go:noescape
func softmaxVector(x []float32)

//go:noescape
func colSumVector(sum, x []float32, rows, stride int)

//go:noescape
func fma8(n int)

//go:noescape
func addVector(z, x, y []float32)

//go:noescape
func subVector(z, x, y []float32)

//go:noescape
func mulVector(z, x, y []float32)

//go:noescape
func addOneVector(z, x []float32, v float32)

//go:noescape
func subOneVector(z, x []float32, v float32)

//go:noescape
func mulOneVector(z, x []float32, v float32)

//go:noescape
func tile6x16(
	strips, k int, a *float32, aRow, aStep, aStrip int, b, c *float32, cRow int, from *float32, fromRow int,
	ahead *float32,
)

//go:noescape
func tile12x8(
	strips, k int, a *float32, aRow, aStep, aStrip int, b, c *float32, cRow int, from *float32, fromRow int,
	ahead *float32,
)

//go:noescape
func take16(y, x *float32, xRow, k int)

//go:noescape
func take8(y, x *float32, xRow, k int)

//go:noescape
func turn8(y *float32, yRow int, x *float32, xRow, k int)

//go:noescape
func adamVector(w, g, m, v []float32, s *adamStep)

//go:noescape
func sgdVector(w, g []float32, s *sgdStep)

//go:noescape
func momentumVector(w, g, m []float32, s *sgdStep)

//go:noescape
func rmspropVector(w, g, v []float32, s *rmspropStep)

// sgdAny has no momentum when m is nil.
func sgdAny(w, g, m []float32, s *sgdStep) {
	if m == nil {
		sgdVector(w, g, s)
	} else {
		momentumVector(w, g, m, s)
	}
}
