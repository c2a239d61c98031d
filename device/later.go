package device

// Deferrer is an optional interface: a device that computes while the program goes on.
type Deferrer interface {
	// ReadLater is Read without the wait: dst is filled once Await(ticket) has returned, with what src holds after
	// everything enqueued before. Until then dst must be left alone; src may be overwritten by whatever is enqueued
	// next.
	ReadLater(dst []float32, src Buffer) (ticket int)
	Await(ticket int)
}

// Reading is a result on its way to the host. The zero Reading has arrived.
type Reading struct {
	dev    Deferrer
	ticket int
}

// ReadLater reads without waiting where dev can do that, and at once where it cannot.
func ReadLater(dev Device, dst []float32, src Buffer) Reading {
	if d, ok := dev.(Deferrer); ok {
		return Reading{d, d.ReadLater(dst, src)}
	}
	dev.Read(dst, src)
	return Reading{}
}

// Arrived reports whether there is nothing to wait for.
func (r Reading) Arrived() bool { return r.dev == nil }

// Wait returns when the result is there.
func (r Reading) Wait() {
	if r.dev != nil {
		r.dev.Await(r.ticket)
	}
}
