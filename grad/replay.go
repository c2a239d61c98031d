package grad

import (
	"sync/atomic"

	"github.com/dygmamba/dygmamba/device"
)

var tapes atomic.Uint64

// Replay runs step, which must come right after Reset. A device that can record steps records it and replays it the
// next time, so the caller says what the step's kernels depend on: shape must differ when any size differs, or which of
// several steps it is.
func (tp *Tape) Replay(shape uint64, step func()) {
	r, ok := tp.dev.(device.Replayer)
	if !ok {
		step()
		return
	}
	if tp.id == 0 {
		tp.id = tapes.Add(1)
	}
	r.Replay(int(Key(Key(tp.id, uint64(tp.floats.moves)), shape)), step)
}
