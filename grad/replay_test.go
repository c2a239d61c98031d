package grad_test

import (
	"testing"

	"github.com/dygmamba/dygmamba/device/dry"
	"github.com/dygmamba/dygmamba/grad"
)

// recorder notes the keys that steps come with; a device may replay a recording of the same key.
type recorder struct {
	*dry.Device
	keys []int
}

func (r *recorder) Replay(key int, step func()) {
	r.keys = append(r.keys, key)
	step()
}

// TestReplayKeys: a recording may be used again only while the step's shapes and the addresses of its memory are the same.
func TestReplayKeys(t *testing.T) {
	dev := &recorder{Device: dry.New(0)}
	tp := grad.NewTape(dev, true)
	step := func(tp *grad.Tape, n int) int {
		tp.Reset(0)
		tp.Replay(uint64(n), func() { tp.New(n, 1<<20); tp.New(n, 1<<20) })
		return dev.keys[len(dev.keys)-1]
	}
	step(tp, 1)            // grows by blocks
	settled := step(tp, 1) // in one block from here on
	if again := step(tp, 1); again != settled {
		t.Error("a step on the same memory has another key")
	}
	if step(tp, 2) == settled {
		t.Error("a step of another shape has the same key")
	}
	if step(tp, 1) == settled {
		t.Error("the key is the same after the memory has moved")
	}
	if other := grad.NewTape(dev, true); step(other, 1) == step(tp, 1) {
		t.Error("two tapes have the same key")
	}
}
