//go:build linux && !nogpu

package cuda

import (
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/dry"
)

// hungry runs the kernels that take memory for partial sums.
func hungry(dev device.Device, batch, length int) {
	const width, state = 50, 16
	rows := batch * length
	wide := dev.Alloc(rows*width).Mat(rows, width)
	narrow := dev.Alloc(rows*state).Mat(rows, state)
	row, table := dev.Alloc(width), dev.Alloc(20*width).Mat(20, width)
	dev.ColSum(row, wide, false)
	s := device.Scan{Batch: batch, Len: length, Width: width, State: state, U: wide, Delta: wide,
		ALog: dev.Alloc(width * state), B: narrow, C: narrow, Y: wide}
	dev.ScanGrad(device.ScanGrad{Scan: s, DY: wide, DU: wide, DDelta: wide, DB: narrow, DC: narrow,
		DALog: dev.Alloc(width * state)})
	dev.ScatterAdd(table, wide, dev.AllocInts(rows), 1)
	dev.Assign(table, wide.Band(0, 20), dev.AllocInts(20))
	dev.NormGrad(device.NormGrad{Norm: device.Norm{X: wide, Gamma: row, Beta: row, Stats: dev.Alloc(2 * rows), Y: wide},
		DY: wide, DX: wide, DGamma: row, DBeta: row})
}

// TestPlan needs no GPU: nothing is launched.
func TestPlan(t *testing.T) {
	d := &Device{name: "cuda (none)"}
	on, memory, own := dry.Like(d)
	hungry(on, 80, 33)
	if want := int64(4*ringFloats + driverBytes); own() != want {
		t.Errorf("with small requests the device takes %d bytes for itself, want %d", own(), want)
	}
	hungry(on, 800, 33)
	if memory.Bytes() == 0 || d.work.most != 0 {
		t.Errorf("%d bytes were allocated; the device itself was asked for %d floats", memory.Bytes(), d.work.most)
	}
	// The backward scan asks for most: marks of 5 segments, shares of ALog and skip for every channel, and of B and C
	// for 4 warps a step.
	floats := int64(800*50*(5*16+16+1) + 800*33*4*32)
	if want := 4*(ringFloats+floats+floats/4) + driverBytes; own() != want {
		t.Errorf("the device takes %d bytes for itself, want %d", own(), want)
	}

	before := own()
	on.Write(on.Alloc(1000), make([]float32, 1000)) // once, not in every step
	if own() != before {
		t.Error("a write outside of a step counts as its input")
	}
	on.(device.Replayer).Replay(1, func() {
		on.Write(on.Alloc(100), make([]float32, 100))
		on.WriteInts(on.AllocInts(1), make([]int32, 1))
	})
	if got, want := own()-before, int64(2*(512+256)); got != want { // in both inboxes, each part at a multiple of 256
		t.Errorf("the inputs of a step take %d bytes, want %d", got, want)
	}
	defer func() {
		if _, ok := recover().(*device.Failure); !ok {
			t.Error("a state that is too large was planned")
		}
	}()
	on.Scan(device.Scan{Batch: 1, Len: 1, Width: 1, State: maxState + 1})
}

// TestPlanHolds compares the plan with what a GPU then takes.
func TestPlanHolds(t *testing.T) {
	d := open(t)
	on, _, own := dry.Like(d)
	hungry(on, 80, 33)
	hungry(on, 70, 300)
	hungry(d, 80, 33)
	hungry(d, 70, 300)
	if took := 4 * int64(d.work.ring.Len+d.work.rest.Len); took+driverBytes > own() {
		t.Errorf("partial sums took %d bytes, planned were %d", took, own()-driverBytes)
	}
}
