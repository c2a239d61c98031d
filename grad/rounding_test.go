package grad_test

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/grad"
)

// rounder notes when it is told to round.
type rounder struct {
	device.Device
	told []bool
}

func (r *rounder) Rounds() bool  { return true }
func (r *rounder) Round(on bool) { r.told = append(r.told, on) }

// A device rounds in steps that learn and in no others, whoever computed before.
func TestRounding(t *testing.T) {
	dev := &rounder{Device: cpu.New(cpu.Options{Threads: 1})}
	defer dev.Close()
	learn, ask := grad.NewTape(dev, true), grad.NewTape(dev, false)
	defer learn.Close()
	defer ask.Close()
	dev.told = nil
	learn.Reset(1)
	ask.Reset(1)
	learn.Reset(2)
	if want := []bool{true, false, true}; !slices.Equal(dev.told, want) {
		t.Errorf("told to round: %v, want %v", dev.told, want)
	}
}
