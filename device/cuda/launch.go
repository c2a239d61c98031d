//go:build linux && !nogpu

package cuda

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/dygmamba/dygmamba/device"
)

const threads = 256 // a block, unless a kernel says otherwise

// launchArgs collects a kernel's arguments: each in an 8-byte slot, and the table of their addresses that the driver
// wants. It also notes the memory that they point to.
type launchArgs struct {
	slots   [96]uint64
	table   [48]unsafe.Pointer
	memory  [48]access // of each argument; whether it is written, the kernel's declaration says
	used, n int
	inside  []access // memory that a structure points to
}

// with starts the arguments of the next launch.
func (d *Device) with() *launchArgs {
	d.args.used, d.args.n, d.args.inside = 0, 0, d.args.inside[:0]
	return &d.args
}

func (a *launchArgs) slot(v uint64) *launchArgs {
	a.slots[a.used] = v
	a.table[a.n] = unsafe.Pointer(&a.slots[a.used])
	a.memory[a.n] = access{}
	a.used++
	a.n++
	return a
}

// pointer passes the address of memory.
func (a *launchArgs) pointer(m access) *launchArgs {
	a.slot(uint64(m.addr))
	a.memory[a.n-1] = m
	return a
}

func (a *launchArgs) buf(b device.Buffer) *launchArgs {
	return a.pointer(accessOf(b.Mat(1, b.Len), false))
}
func (a *launchArgs) ints(b device.Ints) *launchArgs {
	return a.pointer(access{addr: b.Addr, rows: 1, cols: b.Len, stride: b.Len})
}
func (a *launchArgs) size(n int) *launchArgs { return a.slot(uint64(n)) }
func (a *launchArgs) num(n int) *launchArgs  { return a.slot(uint64(uint32(int32(n)))) }
func (a *launchArgs) flag(b bool) *launchArgs {
	if b {
		return a.num(1)
	}
	return a.num(0)
}
func (a *launchArgs) float(f float32) *launchArgs {
	return a.slot(uint64(math.Float32bits(f)))
}

func (a *launchArgs) double(f float64) *launchArgs { return a.slot(math.Float64bits(f)) }

// mat passes an address and the distance between rows.
func (a *launchArgs) mat(m device.Mat) *launchArgs {
	return a.pointer(accessOf(m, false)).size(m.Stride)
}

// words passes a structure of 8-byte fields by value, with the memory that it points to.
func (a *launchArgs) words(w []uint64, inside ...access) *launchArgs {
	a.table[a.n] = unsafe.Pointer(&a.slots[a.used])
	a.memory[a.n] = access{}
	a.n++
	a.used += copy(a.slots[a.used:], w)
	a.inside = append(a.inside, inside...)
	return a
}

// accesses is all memory that kernel k reads and writes with these arguments.
func (a *launchArgs) accesses(k kernel) []access {
	all := make([]access, 0, a.n+len(a.inside))
	for i, m := range a.memory[:a.n] {
		m.write = k.params[i] == writes
		all = append(all, m)
	}
	return slices.DeleteFunc(append(all, a.inside...), access.empty)
}

// over launches one thread for each of n numbers.
func (d *Device) over(k string, n int, shape ...int) {
	d.limit(k, "a launch", n, threads*math.MaxInt32) // blocks that a grid may have
	if n > 0 {
		d.grid(k, blocks(n, threads), 1, threads, 1, 0, shape...)
	}
}

// columns launches blocks of 32 columns × 32 threads.
func (d *Device) columns(k string, n int, shape ...int) {
	d.grid(k, blocks(n, 32), 1, 32, 32, 0, shape...)
}

// warps launches one warp for each of n rows.
func (d *Device) warps(k string, n int, shape ...int) { d.over(k, 32*n, shape...) }

// grid launches gx × gy blocks of bx × by threads. shape is named when the launch fails.
func (d *Device) grid(k string, gx, gy, bx, by, shared int, shape ...int) {
	if d.mode == replaying || gx == 0 || gy == 0 {
		return
	}
	d.enter()
	defer d.leave()
	f := d.kernels[k]
	if len(f.params) != d.args.n {
		panic(&device.Failure{Device: d.name, Call: "kernel " + k,
			Reason: fmt.Sprintf("launched with %d arguments, declared with %d", d.args.n, len(f.params))})
	}
	if d.mode == capturing {
		d.await(d.order.add(d.args.accesses(f)))
	}
	r := call(d.drv.launch, f.function, uintptr(gx), uintptr(gy), 1, uintptr(bx), uintptr(by), 1, uintptr(shared),
		d.compute, ptr(&d.args.table[0]), 0)
	if r != 0 {
		d.fail(fmt.Sprintf("kernel %s on %v (grid %d×%d of %d×%d threads)",
			k, slices.Clone(shape), gx, gy, bx, by), r)
	}
	d.captured()
}

func blocks(n, each int) int { return (n + each - 1) / each }

// pieces cuts n rows for a reduction: how many pieces of how many rows. It depends on n alone.
func pieces(n int) (count, each int) {
	each = max(64, blocks(n, 256))
	return blocks(n, each), each
}

// flat views a group of same-shaped matrices as one long row each when all of them are dense.
func flat(ms ...*device.Mat) {
	for _, m := range ms {
		if m.Given() && !m.Dense() {
			return
		}
	}
	for _, m := range ms {
		if m.Given() {
			n := m.Rows * m.Cols
			m.Rows, m.Cols, m.Stride = 1, n, n
		}
	}
}
