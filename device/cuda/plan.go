//go:build linux && !nogpu

package cuda

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

var _ device.Planner = (*Device)(nil)

// driverBytes is what driver and libraries may take for themselves after Open: code of cuBLAS that is loaded when it is
// first called, recorded steps, and what is lost to the grain of allocations.
const driverBytes = 192 << 20

// plan is a device that launches nothing: its kernels are those of a GPU in the middle of a replayed step, which has
// them recorded already. So they make the same decisions as in earnest, and complain about the same shapes.
type plan struct {
	device.Memory
	device.Matrices
	device.Pointwise
	device.Rows
	device.Sequences
	device.Tables
	device.Learning

	shadow  *Device
	written int // bytes of an inbox that the step's writes take so far
	inputs  int // the most that a step took
}

// Plan is a device that runs nothing and takes its memory from m.
func (d *Device) Plan(m device.Memory) (dev device.Device, own func() int64) {
	s := &Device{name: d.name, mode: replaying}
	all := device.Buffer{Addr: 1, Len: math.MaxInt / 8} // enough for any kernel, so that it never grows
	s.work.ring, s.work.rest = all, all
	p := &plan{Memory: m, Matrices: s, Pointwise: s, Rows: s, Sequences: s, Tables: s, Learning: s, shadow: s}
	return p, p.own
}

// own is the memory for partial sums, as much as it grows to, both inboxes, and the driver's part.
func (p *plan) own() int64 {
	floats := int64(p.shadow.work.most)
	return 4*(ringFloats+floats+floats/4) + int64(len(p.shadow.inboxes)*p.inputs) + driverBytes
}

// Write counts: the writes of a replayed step pass through an inbox.
func (p *plan) Write(dst device.Buffer, src []float32) {
	p.written += inboxBytes(4 * len(src))
	p.Memory.Write(dst, src)
}

// WriteInts counts.
func (p *plan) WriteInts(dst device.Ints, src []int32) {
	p.written += inboxBytes(4 * len(src))
	p.Memory.WriteInts(dst, src)
}

// Replay runs a step and remembers how much it wrote.
func (p *plan) Replay(_ int, step func()) {
	p.written = 0
	step()
	p.inputs = max(p.inputs, p.written)
}

// partial is memory for n partial sums of one operation.
func (d *Device) partial(n int) device.Buffer {
	return d.work.take(d, n)
}
