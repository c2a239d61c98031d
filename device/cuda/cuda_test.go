//go:build linux && !nogpu

package cuda

import (
	"errors"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/devicetest"
)

// open is the GPU, or a skipped test.
func open(t testing.TB) *Device {
	t.Helper()
	dev, err := Open(Options{})
	if errors.Is(err, device.ErrUnavailable) {
		t.Skipf("no GPU here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev.(*Device)
}

func TestConformance(t *testing.T) {
	open(t)
	devicetest.Run(t, func() device.Device { return open(t) })
}

// TestReplay runs a step whose input changes: eagerly, captured, and replayed.
func TestReplay(t *testing.T) {
	d := open(t)
	const n = 1000
	x, y, host := d.Alloc(n), d.Alloc(n), make([]float32, n)
	for run := range 5 {
		for i := range host {
			host[i] = float32(run*n + i)
		}
		d.Replay(1, func() {
			d.Write(x, host)
			d.Scale(y.Mat(1, n), x.Mat(1, n), 2)
			d.Zip(device.Add, y.Mat(1, n), y.Mat(1, n), x.Mat(1, n))
		})
		got := make([]float32, n)
		d.Read(got, y)
		for i, v := range got {
			if v != 3*host[i] {
				t.Fatalf("run %d: y[%d] = %v, want %v", run, i, v, 3*host[i])
			}
		}
	}
}

// TestReplayAssign runs a step whose row numbers change: they are data, and a recording must not keep those it was made
// with.
func TestReplayAssign(t *testing.T) {
	d := open(t)
	const n, entries, cols = 300, 1000, 616
	table, y, rows := d.Alloc(entries*cols), d.Alloc(n*cols), d.AllocInts(n)
	want, host, at := make([]float32, entries*cols), make([]float32, n*cols), make([]int32, n)
	for run := range 5 {
		for i := range host {
			host[i] = float32(run*len(host) + i)
		}
		for r := range at {
			at[r] = int32((run*37+r*r)%(entries/2)) - 1 // some twice, some none
			if at[r] >= 0 {
				copy(want[int(at[r])*cols:], host[r*cols:(r+1)*cols])
			}
		}
		d.Replay(1, func() {
			d.Write(y, host)
			d.WriteInts(rows, at)
			d.Assign(table.Mat(entries, cols), y.Mat(n, cols), rows)
		})
		got := make([]float32, len(want))
		d.Read(got, table)
		if !slices.Equal(got, want) {
			t.Fatalf("run %d: the table is not what was assigned", run)
		}
	}
}

// TestFailure checks that a failing launch names its kernel and shapes.
func TestFailure(t *testing.T) {
	d := open(t)
	defer func() {
		f, ok := recover().(*device.Failure)
		if !ok {
			t.Fatalf("no device.Failure")
		}
		t.Log(f)
	}()
	d.with().num(0)
	d.grid("map_act", 1, 1, 4096, 1, 0, 3, 5) // no block has 4096 threads
}
