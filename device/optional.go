package device

import (
	"context"
	"errors"
)

// What some devices can do beyond the contract. A user asks with a type assertion and does without where the answer is
// no.

// Replayer is an optional interface: a device that can capture the kernels of a step and replay them.
type Replayer interface {
	// Replay runs step, which must issue the same kernels on the same memory each time it is called with the same key.
	// The device may run it, record it, or let only its Writes through and launch the recording.
	Replay(key int, step func())
}

// Planner is an optional interface: a device that takes memory for itself while it computes.
type Planner interface {
	// Plan is a device that computes nothing and takes its memory from m. Own tells, in bytes, how much memory the
	// kernels and steps run on it so far would make this device take besides: an upper bound.
	Plan(m Memory) (dev Device, own func() int64)
}

// Rounder is an optional interface: a device that may round what it multiplies, to 10 bits of mantissa (TF32) instead
// of 23.
type Rounder interface {
	Rounds() bool  // it was opened to do so
	Round(on bool) // from here on, or not; no effect on a device that was not opened to do so
}

// Rounds reports whether dev was opened to round the operands of matrix products, which changes results.
func Rounds(dev Device) bool {
	r, ok := dev.(Rounder)
	return ok && r.Rounds()
}

// Keeper is an optional interface: a device that may keep what it derives of numbers that stay as they are, such as the
// weights of a model that only answers.
type Keeper interface {
	// Keep says that b is changed by Write and Update alone, if at all. Each makes the device forget what it has kept
	// of b, and so does Free.
	Keep(b Buffer)
}

// Stopper is an optional interface: a device that can end a matrix product before it is done.
type Stopper interface {
	// StopWhen makes products panic with *Stopped once done is closed, until it is called again; nil: they never do.
	// What is left in the memory that they write to is of no meaning.
	StopWhen(done <-chan struct{})
}

// Stopped is the panic value of a product that was ended, see Stopper.
type Stopped struct{ Device string }

func (s *Stopped) Error() string { return s.Device + " was stopped" }

// Guarded lets tensor.Guard return the error.
func (s *Stopped) Guarded() {}

// Ended is why ctx ended, if err is that something was stopped because of that; otherwise nil.
func Ended(ctx context.Context, err error) error {
	if stopped := (*Stopped)(nil); errors.As(err, &stopped) {
		return ctx.Err()
	}
	return nil
}

// Limited is an optional interface: a device that knows how much memory it has left.
type Limited interface {
	FreeBytes() int64 // what allocations may still take, now
}

// Metered is an optional interface: a device that knows how much memory it has handed out.
type Metered interface {
	Used() int64 // bytes allocated and not freed
}

// Threaded is an optional interface: a device whose kernels run on threads of the host.
type Threaded interface {
	Threads() int
}

// Sparse is an optional interface: a device that can hold large tables of which perhaps only some rows are ever
// written.
type Sparse interface {
	// AllocSparse hands out n zeroed numbers. Where there are many, those that nobody writes near to take no memory.
	AllocSparse(n int) Buffer
	// ZeroSparse zeroes a buffer of AllocSparse, and takes its memory back until it is written again.
	ZeroSparse(b Buffer)
}

// SparseBytes is the size from which on tables of AllocSparse take memory only where they are written.
const SparseBytes = 256 << 20

// Forgetter is an optional interface: a Replayer that can drop its recordings.
type Forgetter interface {
	Forget() // memory that they refer to may then be freed
}
