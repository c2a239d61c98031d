package grad_test

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
	"github.com/dygmamba/dygmamba/internal/dry"
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

// TestReplayKeys: a recording may be used again only while the step's shapes and the addresses of its memory are the
// same.
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

// early brings all that a step uploads to its place before the step's first kernel, as a device does that replays
// steps.
type early struct {
	*cpu.Device
	writes []func()
	muted  bool
}

func (e *early) Write(dst device.Buffer, src []float32) {
	if e.muted {
		return
	}
	kept := slices.Clone(src)
	e.writes = append(e.writes, func() { e.Device.Write(dst, kept) })
	e.Device.Write(dst, src)
}

// TestInputsMayComeEarly: a step that uploads the inputs of its second half after its first half was computed, as one
// of two calls does, finds them also when they came first.
func TestInputsMayComeEarly(t *testing.T) {
	for _, record := range []bool{false, true} {
		dev := &early{Device: cpu.New(cpu.Options{Threads: 1})}
		defer dev.Close()
		tp := grad.NewTape(dev, record)
		host := make([]float32, 60*30)
		var got [2][]float32
		step := func() {
			tp.Reset(0)
			for call := range got {
				for i := range host {
					host[i] = float32(i%7) - float32(call)
				}
				x := tp.Floats(host[:40*30], 40, 30)
				w := tp.Floats(host[:60*30], 60, 30)
				u := tp.Floats(host[:60*30], 30, 60)
				y := grad.FeedForward(tp, x, &grad.FeedForwardWeights{A: w, B: u}, device.ReLU, 0)
				got[call] = dense(tp, y)
			}
		}
		step()
		want := got
		for _, write := range dev.writes {
			write()
		}
		dev.muted = true
		step()
		for call := range got {
			if !slices.Equal(got[call], want[call]) {
				t.Errorf("recording %v: call %d finds other inputs when they come early", record, call)
			}
		}
	}
}
