package devicetest

import (
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/device"
)

// array is a matrix or vector on the device, between guards that no kernel may touch.
type array struct {
	name               string
	role               role
	whole              device.Buffer // with guards
	rows, cols, stride int
	offset             int       // of the first number in whole
	init, now          []float32 // contents of whole before and after a call
	// the size of the terms that cancel in its numbers, where that is more than their own size
	scale float64
}

type role uint8

const (
	input  role = iota // stays as it is
	output             // poisoned before each call, written by it
	sum                // holds numbers that the call adds to or replaces
)

// guard is what lies around arrays, poison what outputs hold before a call.
const guard = float32(-7654.321)

var poison = float32(math.NaN())

// gaps between the rows of matrices: dense, a part of wider rows, and a width that is a multiple of nothing.
var gaps = []int{0, 5, 17}

// matrix makes an array of rows × cols with a gap after each row.
func (g *rig) matrix(name string, role role, rows, cols, gap int) *array {
	lead := 0
	if gap > 0 {
		lead = 3
	}
	a := &array{name: name, role: role, rows: rows, cols: cols, stride: cols + gap, offset: 4 + lead}
	n := a.offset + rows*a.stride + 4
	a.whole = g.dev.Alloc(n)
	a.init, a.now = make([]float32, n), make([]float32, n)
	for i := range a.init {
		a.init[i] = guard
	}
	for r := range rows {
		for c := range cols {
			v := float32(g.rng.NormFloat64())
			if role == output {
				v = poison
			}
			a.init[a.place(r, c)] = v
		}
	}
	g.arrays = append(g.arrays, a)
	return a
}

// in makes an input, out a matrix that the call writes; vector makes an input of n numbers, result one that the call
// writes, total one that it adds to.

func (g *rig) in(name string, rows, cols, gap int) *array {
	return g.matrix(name, input, rows, cols, gap)
}
func (g *rig) out(name string, rows, cols, gap int) *array {
	return g.matrix(name, output, rows, cols, gap)
}
func (g *rig) vector(name string, n int) *array { return g.matrix(name, input, 1, n, 0) }
func (g *rig) result(name string, n int) *array { return g.matrix(name, output, 1, n, 0) }
func (g *rig) total(name string, n int) *array  { return g.matrix(name, sum, 1, n, 0) }

// fill replaces the random numbers of a.
func (a *array) fill(value func(v float64) float64) *array {
	for r := range a.rows {
		for c := range a.cols {
			i := a.place(r, c)
			a.init[i] = float32(value(float64(a.init[i])))
		}
	}
	return a
}

// indices puts integers on the device.
func (g *rig) indices(v []int32) device.Ints {
	b := g.dev.AllocInts(len(v))
	g.dev.WriteInts(b, v)
	g.ints = append(g.ints, b)
	return b
}

func (a *array) place(r, c int) int { return a.offset + r*a.stride + c }

// at is what the array held before the call.
func (a *array) at(r, c int) float64 { return float64(a.init[a.place(r, c)]) }

// keep makes what the last call left an input of the next one.
func (a *array) keep() {
	a.init = slices.Clone(a.now)
	a.role = input
}

// buf is a dense array without its guards.
func (a *array) buf() device.Buffer { return a.whole.Slice(a.offset, a.offset+a.rows*a.cols) }

// mat is the array as a matrix; the gap after its last row is not part of it.
func (a *array) mat() device.Mat {
	n := 0
	if a.rows > 0 {
		n = (a.rows-1)*a.stride + a.cols
	}
	return device.Mat{Buf: a.whole.Slice(a.offset, a.offset+n), Rows: a.rows, Cols: a.cols, Stride: a.stride}
}

// check looks at what holds for every call.
func (a *array) check(g *rig) {
	g.Helper()
	inside := make([]bool, len(a.now))
	for r := range a.rows {
		for c := range a.cols {
			i := a.place(r, c)
			inside[i] = true
			if a.role == input && math.Float32bits(a.now[i]) != math.Float32bits(a.init[i]) {
				g.Errorf("input %s[%d,%d] was changed from %v to %v", a.name, r, c, a.init[i], a.now[i])
				return
			}
		}
	}
	for i, v := range a.now {
		if !inside[i] && v != guard {
			g.Errorf("%s: number %d, outside the matrix, was changed to %v", a.name, i-a.offset, v)
			return
		}
	}
}

// want compares the array with the reference, in an ordinary run.
func (a *array) want(g *rig, tol float64, ref func(r, c int) float64) {
	g.Helper()
	if g.plain() {
		a.near(g, tol, ref)
	}
}

// near compares the array with another one. A number may be wrong by tol of itself plus tol of the array's root mean
// square, which is what cancellation among terms of that size can cost.
func (a *array) near(g *rig, tol float64, ref func(r, c int) float64) {
	g.Helper()
	var size float64
	for r := range a.rows {
		for c := range a.cols {
			if v := ref(r, c); !math.IsInf(v, 0) && !math.IsNaN(v) {
				size += v * v
			}
		}
	}
	size = max(a.scale, math.Sqrt(size/float64(max(1, a.rows*a.cols))))
	for r := range a.rows {
		for c := range a.cols {
			got, want := float64(a.now[a.place(r, c)]), ref(r, c)
			if got == want || math.IsNaN(got) && math.IsNaN(want) {
				continue
			}
			if wrong := math.Abs(got - want); !(wrong <= tol*(math.Abs(want)+size)) {
				g.Errorf("%s[%d,%d] = %v, want %v (wrong by %.2g, allowed %.2g)",
					a.name, r, c, got, want, wrong, tol*(math.Abs(want)+size))
				return
			}
		}
	}
}

// wantAdded is want for an array that the call adds to.
func (a *array) wantAdded(g *rig, tol float64, ref func(r, c int) float64) {
	g.Helper()
	a.want(g, tol, func(r, c int) float64 { return a.at(r, c) + ref(r, c) })
}
