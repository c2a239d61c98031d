// Package devicetest answers: does this device compute what package device promises?
//
// Every kernel runs on inputs drawn from a fixed seed, over sizes that are not multiples of a vector's width, 0 and 1
// included, on matrices with gaps between their rows, and is compared with a float64 reference computed here. Outputs
// are poisoned before each run, inputs and the gaps around every matrix must stay as they were, gradients of parameters
// are added to, and a second run must give the same bits. The suite uses the Device interface alone, with tolerances
// that fit float32 on any hardware.
package devicetest

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/device"
)

// groups is everything a device must pass.
var groups = []struct {
	name string
	run  func(g *rig)
}{
	{"matmul", testMatMul},
	{"transpose", testTranspose},
	{"map", testMap},
	{"zip", testZip},
	{"scale", testScale},
	{"dropout", testDropout},
	{"dropout keys", testDropoutKeys},
	{"dropout inside", testDropsInside},
	{"colsum", testColSum},
	{"timecode", testTimeCode},
	{"update", testUpdate},
	{"scan", testScan},
	{"conv", testConv},
	{"norm", testNorm},
	{"softmax", testSoftmax},
	{"attention", testAttention},
	{"weighted", testWeighted},
	{"cells", testCells},
	{"tables", testTables},
	{"assign", testAssign},
	{"decayed products", testDecayedProducts},
	{"rowsum", testRowSum},
	{"loss", testLoss},
}

// Run tests everything on a device of its own, and closes it.
func Run(t *testing.T, open func() device.Device) {
	each(t, open, func(g *rig) {})
}

// Same tests that other devices give the same bits for everything as the first, as all numbers of threads must.
func Same(t *testing.T, first func() device.Device, others ...func() device.Device) {
	results := map[string][]uint32{}
	each(t, first, func(g *rig) { g.record = results })
	for _, other := range others {
		each(t, other, func(g *rig) { g.expect = results })
	}
}

// Agree tests that two devices agree within tol, in the sense of want.
func Agree(t *testing.T, first, second func() device.Device, tol float64) {
	results := map[string][]uint32{}
	each(t, first, func(g *rig) { g.record = results })
	each(t, second, func(g *rig) { g.expect, g.within = results, tol })
}

// Allocations tests that no kernel allocates Go memory once it has run for the same sizes.
func Allocations(t *testing.T, open func() device.Device) {
	each(t, open, func(g *rig) { g.count = true })
}

func each(t *testing.T, open func() device.Device, prepare func(g *rig)) {
	t.Helper()
	dev := open()
	defer func() {
		if err := dev.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for _, grp := range groups {
		t.Run(grp.name, func(t *testing.T) {
			g := &rig{T: t, dev: dev, path: grp.name, tape: newTape()}
			prepare(g)
			grp.run(g)
		})
	}
}

// rig is one case: arrays on the device, a call, and what should have come of it.
type rig struct {
	*testing.T
	dev    device.Device
	path   string // group and case
	rng    *rand.Rand
	arrays []*array
	ints   []device.Ints
	runs   int
	tape   *tape // of the group's cases, one after the other; see reference

	// The special modes, see Same and Allocations; then references are not computed.
	record, expect map[string][]uint32
	within         float64 // 0: the same bits
	count          bool
}

// scope runs one case, with a seed that follows from its name.
func (g *rig) scope(name string, run func(g *rig)) {
	g.Helper()
	g.Run(name, func(t *testing.T) {
		seed := fnv.New64a()
		seed.Write([]byte(g.path + "/" + name))
		c := *g
		c.T, c.path, c.rng = t, g.path+"/"+name, rand.New(rand.NewPCG(1, seed.Sum64()))
		defer c.free()
		run(&c)
	})
}

func (g *rig) free() {
	for _, a := range g.arrays {
		g.dev.Free(a.whole)
	}
	for _, b := range g.ints {
		g.dev.FreeInts(b)
	}
}

// sizes runs a case for each size, which the format names, on matrices with gaps of different widths.
func (g *rig) sizes(format string, list [][]int, run func(g *rig, n []int, gap int)) {
	for i, n := range list {
		var words []any
		for _, v := range n {
			words = append(words, v)
		}
		g.scope(fmt.Sprintf(format, words...), func(g *rig) { run(g, n, gaps[i%len(gaps)]) })
	}
}

// plain reports whether this is an ordinary run, in which results are compared with a reference.
func (g *rig) plain() bool { return g.record == nil && g.expect == nil && !g.count }

// reference is the case's tape. In the special modes it is off.
func (g *rig) reference() *tape {
	g.tape.reset(!g.plain())
	return g.tape
}

// do calls a kernel and checks everything that holds for all kernels: inputs and gaps stay as they were, every output
// is written, and a second call gives the same bits. Where results are compared with another device's, that is enough.
func (g *rig) do(call func()) {
	g.Helper()
	g.reset()
	call()
	g.dev.Sync()
	g.read()
	if g.count {
		if n := testing.AllocsPerRun(3, call); n > 0 {
			g.Errorf("%v allocations in a call", n)
		}
		return
	}
	g.compare()
	first := make([][]uint32, len(g.arrays))
	for i, a := range g.arrays {
		first[i] = bits(a.now)
		a.check(g)
	}
	g.runs++
	if !g.plain() {
		return
	}
	g.reset()
	call()
	g.read()
	for i, a := range g.arrays {
		if k := differ(first[i], bits(a.now)); k >= 0 {
			g.Errorf("%s changes from call to call: number %d is %v, then %v",
				a.name, k-a.offset, math.Float32frombits(first[i][k]), a.now[k])
		}
	}
}

// compare keeps the results, or compares them with those of the other device.
func (g *rig) compare() {
	g.Helper()
	for i, a := range g.arrays {
		key := fmt.Sprintf("%s/%d/%d", g.path, g.runs, i)
		if g.record != nil {
			g.record[key] = bits(a.now)
		}
		if g.within > 0 {
			other := g.expect[key]
			a.near(g, g.within, func(r, c int) float64 { return float64(math.Float32frombits(other[a.place(r, c)])) })
		} else if g.expect != nil {
			if k := differ(g.expect[key], bits(a.now)); k >= 0 {
				g.Errorf("%s differs from the other device at number %d: %v", a.name, k-a.offset, a.now[k])
			}
		}
	}
}

func bits(x []float32) []uint32 {
	b := make([]uint32, len(x))
	for i, v := range x {
		b[i] = math.Float32bits(v)
	}
	return b
}

// differ is the first place where x and y are not the same, or −1.
func differ(x, y []uint32) int {
	for i := range max(len(x), len(y)) {
		if i >= min(len(x), len(y)) || x[i] != y[i] {
			return i
		}
	}
	return -1
}

func (g *rig) reset() {
	for _, a := range g.arrays {
		g.dev.Write(a.whole, a.init)
	}
}

func (g *rig) read() {
	for _, a := range g.arrays {
		g.dev.Read(a.now, a.whole)
	}
}
