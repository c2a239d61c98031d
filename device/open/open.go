// Package open finds a device by name.
package open

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/device/cuda"
)

// Names are the devices that can be asked for.
var Names = []string{"auto", "cpu", "cuda"}

// Options says how to open a device.
type Options struct {
	Threads int  // CPU threads; 0: all
	GPU     int  // which GPU of this machine, from 0
	Exact   bool // GPU: matrix products of steps that learn do not round their operands to TF32; others never do
}

func (o Options) gpu() cuda.Options { return cuda.Options{GPU: o.GPU, TF32: !o.Exact} }

// Device opens a device. "auto" takes the GPU when it is usable; otherwise it takes the CPU and note says why.
func Device(name string, o Options) (dev device.Device, note string, err error) {
	switch name {
	case "cpu":
		return cpu.New(cpu.Options{Threads: o.Threads}), "", nil
	case "cuda":
		dev, err = cuda.Open(o.gpu())
		return dev, "", err
	case "auto", "":
		dev, err = cuda.Open(o.gpu())
		if errors.Is(err, device.ErrUnavailable) {
			_, why, _ := strings.Cut(err.Error(), device.ErrUnavailable.Error()+": ")
			return cpu.New(cpu.Options{Threads: o.Threads}), why, nil
		}
		return dev, "", err
	}
	return nil, "", fmt.Errorf("device %q is not known; want auto, cpu or cuda", name)
}
