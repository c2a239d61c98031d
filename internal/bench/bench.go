// Package bench answers: how fast does this machine train, and what does that take?
//
// It measures whole training steps and their growth with the length of histories; single kernels are measured by
// device/bench, which knows no models and no events.
package bench

import (
	"context"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/open"
	kernels "github.com/dygmamba/dygmamba/internal/kernelbench"
)

// Kernels asks how near single kernels come to what the machine can do.
type Kernels struct {
	Device device.Device // on a CPU with several threads everything is measured on one alone, too
	Rounds int           // how often; the shortest time counts

	OnKernel func(done, total int) // told after every measurement; may be nil
}

// KernelReport is a column for each device: a single thread first, where that was measured.
type KernelReport = kernels.Report

// Peak is the line of a KernelReport that products are compared with.
const Peak = kernels.Peak

// Run measures.
func (k Kernels) Run(ctx context.Context) (KernelReport, error) {
	devices := []device.Device{k.Device}
	if t, ok := k.Device.(device.Threaded); ok && t.Threads() > 1 {
		one, _, err := open.Device("cpu", open.Options{Threads: 1})
		if err != nil {
			return KernelReport{}, err
		}
		defer one.Close()
		devices = []device.Device{one, k.Device}
	}
	return kernels.Kernels(ctx, kernels.Options{Rounds: k.Rounds, Progress: k.OnKernel}, devices...)
}
