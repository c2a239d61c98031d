//go:build !linux || nogpu

package cuda

import (
	"fmt"

	"github.com/dygmamba/dygmamba/device"
)

// Options says how to open the GPU.
type Options struct {
	GPU  int  // which of them, from 0
	TF32 bool // let matrix products round their operands to TF32
}

// Open says that this build has no CUDA.
func Open(Options) (device.Device, error) {
	return nil, fmt.Errorf("cuda: %w: this build has no GPU support (CUDA needs Linux and a build without the tag "+
		"nogpu)", device.ErrUnavailable)
}
