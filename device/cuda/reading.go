//go:build linux && !nogpu

package cuda

import (
	"unsafe"

	"github.com/dygmamba/dygmamba/device"
)

// reading is a result on its way to the host.
type reading struct {
	ticket int
	dst    []float32 // nil: nothing is under way
	host   []byte    // pinned
	done   uintptr   // event: the result is in host
}

const maxReadings = 8 // under way at once; one more waits for the oldest

// ReadLater enqueues a read.
func (d *Device) ReadLater(dst []float32, src device.Buffer) (ticket int) {
	d.tickets++
	if len(dst) == 0 {
		return d.tickets
	}
	d.enter()
	defer d.leave()
	r := &d.readings[d.tickets%maxReadings]
	d.collect(r)
	if r.done == 0 {
		r.done = d.event()
	}
	bytes := 4 * len(dst)
	if len(r.host) < bytes {
		d.unpin(r.host)
		r.host = nil
		r.host = d.pin(bytes)
	}
	d.check("cuMemcpyDtoHAsync", call(d.drv.copyOut, ptr(&r.host[0]), src.Addr, uintptr(bytes), d.compute))
	d.check("cuEventRecord", call(d.drv.eventRecord, r.done, d.compute))
	r.ticket, r.dst = d.tickets, dst
	return r.ticket
}

// Await waits for a read that was enqueued.
func (d *Device) Await(ticket int) {
	if r := &d.readings[ticket%maxReadings]; r.ticket == ticket {
		d.enter()
		defer d.leave()
		d.collect(r)
	}
}

// collect waits for a reading that is under way and hands it over.
func (d *Device) collect(r *reading) {
	if r.dst == nil {
		return
	}
	dst := r.dst
	r.dst = nil
	d.check("cuEventSynchronize", call(d.drv.eventSync, r.done))
	copy(dst, unsafe.Slice((*float32)(unsafe.Pointer(&r.host[0])), len(dst)))
}
