package cpu

import (
	"fmt"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/devicetest"
)

func open(threads int, plain bool) func() device.Device {
	return func() device.Device { return New(Options{Threads: threads, Plain: plain}) }
}

func TestConformance(t *testing.T) {
	t.Run("vector", func(t *testing.T) { devicetest.Run(t, open(2, false)) })
	t.Run("plain", func(t *testing.T) { devicetest.Run(t, open(2, true)) })
}

// The vector forms and the plain ones agree within 2e-5 of a number and of the size of its array.
func TestAgreement(t *testing.T) {
	devicetest.Agree(t, open(1, true), open(1, false), 2e-5)
}

// Results do not depend on the number of threads.
func TestThreads(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			devicetest.Same(t, open(1, plain), open(3, plain), open(16, plain))
		})
	}
}

func TestAllocations(t *testing.T) {
	t.Run("vector", func(t *testing.T) { devicetest.Allocations(t, open(2, false)) })
	t.Run("plain", func(t *testing.T) { devicetest.Allocations(t, open(2, true)) })
}
