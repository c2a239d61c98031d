// Package dry answers: how much memory would it take?
//
// Its Device hands out addresses with nothing behind them and does no arithmetic. A step that runs on it makes the same
// allocations as on any other device, so a tape on a dry device tells what a step needs before anything is allocated.
package dry

import (
	"maps"
	"slices"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/hook"
)

// Device counts allocations and computes nothing.
type Device struct {
	hook.Hook       // that leaves all kernels out
	limit     int64 // bytes; 0: no limit
	used, top int64
	next      uintptr
	sparse    map[uintptr]int64 // bytes of tables of which perhaps only some rows are written
}

// New makes a dry device. With a limit in bytes above 0, going beyond it panics with *device.OutOfMemory.
func New(limit int64) *Device {
	return &Device{Hook: hook.Hook{Launch: func(string, func()) {}}, limit: limit, next: page}
}

// Like is a device that computes nothing in place of dev. What steps allocate on it is in memory; own tells what dev
// would take for itself besides, in bytes.
func Like(dev device.Device) (on device.Device, memory *Device, own func() int64) {
	memory = New(0)
	if p, ok := dev.(device.Planner); ok {
		on, own = p.Plan(memory)
		return on, memory, own
	}
	return memory, memory, func() int64 { return 0 }
}

// page keeps addresses away from 0, which stands for "no buffer".
const page = 4096

// Bytes is what is allocated now.
func (d *Device) Bytes() int64 { return d.used }

// Peak is the most that was ever allocated at once.
func (d *Device) Peak() int64 { return d.top }

// Sparse is the bytes of each table that is allocated now and of which perhaps only some rows are written, by size.
// They are part of Bytes.
func (d *Device) Sparse() []int64 { return slices.Sorted(maps.Values(d.sparse)) }

// AllocSparse counts a table of which perhaps only some rows are written.
func (d *Device) AllocSparse(n int) device.Buffer {
	b := d.Alloc(n)
	if d.sparse == nil {
		d.sparse = map[uintptr]int64{}
	}
	d.sparse[b.Addr] = 4 * int64(n)
	return b
}

// ZeroSparse moves nothing.
func (d *Device) ZeroSparse(device.Buffer) {}

func (d *Device) alloc(n int) uintptr {
	need := 4 * int64(n)
	if d.limit > 0 && d.used+need > d.limit {
		panic(&device.OutOfMemory{Device: d.Name(), Need: need, Free: d.limit - d.used})
	}
	d.used += need
	d.top = max(d.top, d.used)
	addr := d.next
	d.next += (uintptr(need) + page) &^ (page - 1)
	return addr
}

// The methods of device.Memory: allocations count, copies move nothing.

func (d *Device) Name() string                           { return "dry" }
func (d *Device) Alloc(n int) device.Buffer              { return device.Buffer{Addr: d.alloc(n), Len: n} }
func (d *Device) Free(b device.Buffer)                   { d.used -= 4 * int64(b.Len); delete(d.sparse, b.Addr) }
func (d *Device) AllocInts(n int) device.Ints            { return device.Ints{Addr: d.alloc(n), Len: n} }
func (d *Device) FreeInts(b device.Ints)                 { d.used -= 4 * int64(b.Len) }
func (d *Device) Write(dst device.Buffer, src []float32) {}
func (d *Device) WriteInts(dst device.Ints, src []int32) {}
func (d *Device) Read(dst []float32, src device.Buffer)  { clear(dst) }
func (d *Device) Zero(b device.Buffer)                   {}
func (d *Device) Sync()                                  {}
func (d *Device) Close() error                           { return nil }

var (
	_ device.Device = (*Device)(nil)
	_ device.Sparse = (*Device)(nil)
)
