// Package recorded answers: would a step come out right if it were recorded?
//
// Its Device does with the steps of another one, as a CPU, what a GPU does: the first of a key runs as it is, the
// kernels of the second are recorded, and from then on only what a step writes gets through, before the recording
// runs. Whatever else a step makes depend on the batch, such as a size or a factor in an argument, then stays as it
// was. Tests find such steps with it where there is no GPU.
package recorded

import (
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/hook"
)

// Device records the steps of another device.
type Device struct {
	hook.Hook
	steps map[int]*step
	now   *step // that is recorded or replayed; nil: kernels run at once
}

// step is what became of a key.
type step struct {
	kernels []func()
	done    bool
}

// New wraps a device.
func New(dev device.Device) *Device {
	d := &Device{steps: map[int]*step{}}
	d.Hook = hook.New(dev, d.launch)
	return d
}

// Replay runs the first step of a key, records the second, and replays the recording from then on.
func (d *Device) Replay(key int, do func()) {
	s, known := d.steps[key]
	if !known {
		d.steps[key] = new(step)
		do()
		return
	}
	d.now = s
	defer func() { d.now = nil }()
	do()
	s.done = true
	for _, kernel := range s.kernels {
		kernel()
	}
}

// launch runs a kernel, records it, or leaves it to the recording. What a step writes gets through.
func (d *Device) launch(name string, kernel func()) {
	switch {
	case d.now == nil, name == "Write", name == "WriteInts":
		kernel()
	case !d.now.done:
		d.now.kernels = append(d.now.kernels, kernel)
	}
}

// Read waits for what a recorded step computes and has not computed yet: that is a mistake of the step.
func (d *Device) Read(dst []float32, src device.Buffer) {
	if d.now != nil {
		panic(&device.Failure{Device: d.Name(), Call: "Read", Reason: "the step that is recorded has not run yet"})
	}
	d.Device.Read(dst, src)
}
