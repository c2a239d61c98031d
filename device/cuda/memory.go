//go:build linux && !nogpu

package cuda

import (
	"fmt"
	"unsafe"

	"github.com/dygmamba/dygmamba/device"
)

// Alloc takes n zeroed floats.
func (d *Device) Alloc(n int) device.Buffer {
	if n == 0 {
		return device.Buffer{}
	}
	b := device.Buffer{Addr: d.alloc(4 * n), Len: n}
	d.Zero(b)
	return b
}

// AllocInts takes n zeroed ints.
func (d *Device) AllocInts(n int) device.Ints {
	b := d.Alloc(n)
	return device.Ints{Addr: b.Addr, Len: n}
}

// Free gives memory back.
func (d *Device) Free(b device.Buffer) { d.release(b.Addr) }

// FreeInts gives memory back.
func (d *Device) FreeInts(b device.Ints) { d.release(b.Addr) }

func (d *Device) alloc(bytes int) uintptr {
	d.enter()
	defer d.leave()
	var addr uintptr
	if r := call(d.drv.alloc, ptr(&addr), uintptr(bytes)); r != 0 {
		const outOfMemory = 2
		if r == outOfMemory {
			panic(&device.OutOfMemory{Device: d.name, Need: int64(bytes), Free: d.free()})
		}
		d.fail("cuMemAlloc", r)
	}
	return addr
}

// FreeBytes is how much memory is left on the GPU.
func (d *Device) FreeBytes() int64 {
	d.enter()
	defer d.leave()
	return d.free()
}

func (d *Device) free() int64 {
	var free, total uintptr
	call(d.drv.memInfo, ptr(&free), ptr(&total))
	return int64(free)
}

// release gives memory back. A GPU that fails here has failed before or will at the next kernel, and that is where it
// is told.
func (d *Device) release(addr uintptr) {
	if addr == 0 {
		return
	}
	d.tryEnter()
	defer d.leave()
	call(d.drv.streamSync, d.compute)
	call(d.drv.free, addr)
}

// Write copies floats to the GPU. The source may be reused as soon as it returns.
func (d *Device) Write(dst device.Buffer, src []float32) {
	if len(src) > 0 {
		d.copyIn(dst.Addr, unsafe.Pointer(&src[0]), 4*len(src))
	}
}

// WriteInts copies ints to the GPU.
func (d *Device) WriteInts(dst device.Ints, src []int32) {
	if len(src) > 0 {
		d.copyIn(dst.Addr, unsafe.Pointer(&src[0]), 4*len(src))
	}
}

// Read copies floats from the GPU, after everything enqueued before.
func (d *Device) Read(dst []float32, src device.Buffer) {
	if len(dst) == 0 {
		return
	}
	d.enter()
	defer d.leave()
	for len(dst) > 0 {
		part := d.staging.take(d, min(4*len(dst), stagingBytes))
		n := len(part) / 4
		d.check("cuMemcpyDtoHAsync", call(d.drv.copyOut, ptr(&part[0]), src.Addr, uintptr(4*n), d.compute))
		d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute))
		copy(dst, unsafe.Slice((*float32)(unsafe.Pointer(&part[0])), n))
		dst, src = dst[n:], src.Slice(n, src.Len)
	}
}

// Zero clears a buffer.
func (d *Device) Zero(b device.Buffer) {
	if b.Len == 0 || d.mode == replaying {
		return
	}
	d.enter()
	defer d.leave()
	if d.mode == capturing {
		d.await(d.order.add([]access{accessOf(b.Mat(1, b.Len), true)}))
	}
	d.check("cuMemsetD32Async", call(d.drv.fill, b.Addr, 0, uintptr(b.Len), d.compute))
	d.captured()
}

// Sync waits for everything enqueued.
func (d *Device) Sync() {
	d.enter()
	defer d.leave()
	d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute))
}

// copyIn copies through pinned memory: in order with the kernels, or by way of the inbox of a step that is captured or
// replayed.
func (d *Device) copyIn(dst uintptr, src unsafe.Pointer, bytes int) {
	from := unsafe.Slice((*byte)(src), bytes)
	if d.mode != eager {
		if !d.inbox.put(dst, from) {
			d.full(bytes)
		}
		return
	}
	d.written += inboxBytes(bytes)
	d.enter()
	defer d.leave()
	for len(from) > 0 {
		part := d.staging.take(d, min(len(from), stagingBytes))
		n := copy(part, from)
		d.check("cuMemcpyHtoDAsync", call(d.drv.copyIn, dst, ptr(&part[0]), uintptr(n), d.compute))
		from, dst = from[n:], dst+uintptr(n)
	}
}

// pin takes memory of the host that the GPU can copy from and to by itself.
func (d *Device) pin(bytes int) []byte {
	var p unsafe.Pointer
	if r := call(d.drv.hostAlloc, ptr(&p), uintptr(bytes), 0); r != 0 {
		d.fail(fmt.Sprintf("cuMemHostAlloc of %d bytes", bytes), r)
	}
	return unsafe.Slice((*byte)(p), bytes)
}

func (d *Device) unpin(memory []byte) {
	if memory != nil {
		call(d.drv.hostFree, ptr(&memory[0]))
	}
}

const stagingBytes = 64 << 20

// staging is a ring of pinned memory. When it is full it waits for what was enqueued and starts over.
type staging struct {
	memory []byte
	used   int
}

func (s *staging) take(d *Device, n int) []byte {
	if s.memory == nil {
		s.memory = d.pin(stagingBytes)
	}
	if s.used+n > len(s.memory) {
		d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute))
		s.used = 0
	}
	part := s.memory[s.used : s.used+n]
	s.used += (n + 255) &^ 255
	s.used = min(s.used, len(s.memory))
	return part
}

// scratch is memory for partial sums. Small requests go round in a ring, so that kernels that run at once seldom have
// to share memory; large ones share the rest.
type scratch struct {
	ring, rest device.Buffer
	next       int // in the ring
	most       int // floats of a large request, so far
}

const (
	ringFloats  = 8 << 20
	smallFloats = ringFloats / 4 // the most that goes to the ring
)

// take gives n floats, with undefined contents. It grows only outside of captured steps: a step's first run is never
// captured. Recordings that refer to the old memory are dropped.
func (s *scratch) take(d *Device, n int) device.Buffer {
	if n > smallFloats {
		s.most = max(s.most, n)
		s.grow(d, &s.rest, n, n+n/4)
		return s.rest.Slice(0, n)
	}
	s.grow(d, &s.ring, ringFloats, ringFloats)
	if s.next+n > ringFloats {
		s.next = 0
	}
	part := s.ring.Slice(s.next, s.next+n)
	s.next += (n + 63) &^ 63 // where kernels like rows to begin
	return part
}

// grow sees that b has least floats.
func (s *scratch) grow(d *Device, b *device.Buffer, least, floats int) {
	if b.Len >= least {
		return
	}
	if d.mode != eager {
		panic(&device.Failure{Device: d.name, Call: "scratch",
			Reason: "a captured step needs more scratch memory than its first run"})
	}
	d.Forget()
	d.Free(*b)
	*b = device.Buffer{}
	*b = d.Alloc(floats)
}
