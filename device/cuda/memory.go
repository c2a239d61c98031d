//go:build linux && !nogpu

package cuda

import (
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

func (d *Device) release(addr uintptr) {
	if addr == 0 {
		return
	}
	d.enter()
	defer d.leave()
	d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute))
	d.check("cuMemFree", call(d.drv.free, addr))
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
	d.check("cuMemsetD32Async", call(d.drv.fill, b.Addr, 0, uintptr(b.Len), d.compute))
}

// Sync waits for everything enqueued.
func (d *Device) Sync() {
	d.enter()
	defer d.leave()
	d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute))
}

// copyIn copies through pinned memory. Beside a step that is captured or replayed it uses the stream of the copies.
func (d *Device) copyIn(dst uintptr, src unsafe.Pointer, bytes int) {
	d.enter()
	defer d.leave()
	stream := d.compute
	if d.mode != eager {
		stream = d.copies
	}
	from := unsafe.Slice((*byte)(src), bytes)
	for len(from) > 0 {
		part := d.staging.take(d, min(len(from), stagingBytes))
		n := copy(part, from)
		d.check("cuMemcpyHtoDAsync", call(d.drv.copyIn, dst, ptr(&part[0]), uintptr(n), stream))
		from, dst = from[n:], dst+uintptr(n)
	}
}

const stagingBytes = 64 << 20

// staging is a ring of pinned memory. When it is full it waits for both streams and starts over.
type staging struct {
	memory []byte
	used   int
}

func (s *staging) take(d *Device, n int) []byte {
	if s.memory == nil {
		var p unsafe.Pointer
		d.check("cuMemHostAlloc", call(d.drv.hostAlloc, ptr(&p), stagingBytes, 0))
		s.memory = unsafe.Slice((*byte)(p), stagingBytes)
	}
	if s.used+n > len(s.memory) {
		d.check("cuStreamSynchronize", call(d.drv.streamSync, d.copies))
		if d.mode == eager {
			d.check("cuStreamSynchronize", call(d.drv.streamSync, d.compute))
		}
		s.used = 0
	}
	part := s.memory[s.used : s.used+n]
	s.used += (n + 255) &^ 255
	s.used = min(s.used, len(s.memory))
	return part
}

func (s *staging) close(d *Device) {
	if s.memory != nil {
		call(d.drv.hostFree, ptr(&s.memory[0]))
		s.memory = nil
	}
}

// scratch is memory for partial sums, shared by all kernels: they run one after the other.
type scratch struct{ buf device.Buffer }

// take gives n floats, with undefined contents. It grows only outside of captured steps: a step's first run is never captured.
// Recordings that refer to the old memory are dropped.
func (s *scratch) take(d *Device, n int) device.Buffer {
	if s.buf.Len < n {
		if d.mode != eager {
			panic(&device.Failure{Device: d.name, Call: "scratch", Reason: "a captured step needs more scratch memory than its first run"})
		}
		d.Forget()
		d.Free(s.buf)
		s.buf = device.Buffer{}
		s.buf = d.Alloc(n + n/4)
	}
	return s.buf.Slice(0, n)
}
