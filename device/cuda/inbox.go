//go:build linux && !nogpu

package cuda

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
)

// inbox takes the inputs of one replayed step. Packed one after the other in pinned memory, they go to the GPU in one
// copy while the step before still computes, and from there to where the step wants them. There are two, so that the
// host fills one while the GPU empties the other.
type inbox struct {
	host    []byte  // pinned
	addr    uintptr // as many bytes in the GPU's memory
	used    int     // bytes
	parts   []part
	arrived uintptr // event: what was packed is in the GPU's memory
	emptied uintptr // event: and where the step wants it
}

// part is a run of bytes that belong together.
type part struct {
	dst       uintptr
	at, bytes int // in the inbox
}

const inboxAlign = 256 // bytes; where a part begins

// inboxBytes is what a write of n bytes takes in an inbox at most.
func inboxBytes(n int) int { return (n + inboxAlign - 1) &^ (inboxAlign - 1) }

// put packs a write and reports whether there was room for it. Writes to neighbouring addresses stay apart: they may
// belong to two allocations, and no copy may reach across.
func (b *inbox) put(dst uintptr, src []byte) bool {
	at := inboxBytes(b.used)
	if at+len(src) > len(b.host) {
		return false
	}
	b.used = at + copy(b.host[at:], src)
	b.parts = append(b.parts, part{dst, at, len(src)})
	return true
}

// openInbox waits until the next inbox may be filled, and sees that it has room.
func (d *Device) openInbox(bytes int) *inbox {
	d.turn = 1 - d.turn
	b := &d.inboxes[d.turn]
	if b.arrived == 0 {
		b.arrived, b.emptied = d.event(), d.event()
	}
	d.check("cuEventSynchronize", call(d.drv.eventSync, b.emptied))
	if len(b.host) < bytes {
		d.closeInbox(b)
		b.host, b.addr = d.pin(bytes), d.alloc(bytes)
	}
	b.used, b.parts = 0, b.parts[:0]
	return b
}

// deliver sends what was packed on its way; kernels enqueued after it find it where they want it.
func (d *Device) deliver(b *inbox) {
	if b.used == 0 {
		return
	}
	d.check("cuMemcpyHtoDAsync", call(d.drv.copyIn, b.addr, ptr(&b.host[0]), uintptr(b.used), d.copies))
	d.check("cuEventRecord", call(d.drv.eventRecord, b.arrived, d.copies))
	d.check("cuStreamWaitEvent", call(d.drv.streamWait, d.compute, b.arrived, 0))
	for _, p := range b.parts {
		if r := call(d.drv.copyWithin, p.dst, b.addr+uintptr(p.at), uintptr(p.bytes), d.compute); r != 0 {
			d.fail(fmt.Sprintf("cuMemcpyDtoDAsync of %d bytes", p.bytes), r)
		}
	}
	d.check("cuEventRecord", call(d.drv.eventRecord, b.emptied, d.compute))
}

// closeInbox gives an inbox's memory back; the GPU must be done with it.
func (d *Device) closeInbox(b *inbox) {
	d.unpin(b.host)
	d.release(b.addr)
	b.host, b.addr = nil, 0
}

// full is the failure of a step that writes more than the first one of its key did.
func (d *Device) full(bytes int) {
	panic(&device.Failure{Device: d.name, Call: fmt.Sprintf("write of %d bytes", bytes),
		Reason: "a replayed step writes more than its first run did"})
}
