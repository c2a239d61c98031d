package dry_test

import (
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/internal/dry"
)

// greedy is a device that takes memory for itself.
type greedy struct{ device.Device }

func (greedy) Plan(m device.Memory) (device.Device, func() int64) {
	return m.(device.Device), func() int64 { return 42 }
}

func TestLike(t *testing.T) {
	for want, dev := range map[int64]device.Device{0: dry.New(0), 42: greedy{}} {
		on, memory, own := dry.Like(dev)
		on.Alloc(10)
		if memory.Bytes() != 40 || own() != want {
			t.Errorf("%d bytes allocated and %d of its own, want 40 and %d", memory.Bytes(), own(), want)
		}
	}
}

func TestCounts(t *testing.T) {
	d := dry.New(100)
	a := d.Alloc(10)
	b := d.AllocInts(5)
	if d.Bytes() != 60 || a.Addr == 0 || b.Addr == 0 || a.Addr+40 > b.Addr {
		t.Errorf("%d bytes in use, at %#x and %#x", d.Bytes(), a.Addr, b.Addr)
	}
	d.FreeInts(b)
	d.Free(d.Alloc(15))
	if d.Bytes() != 40 || d.Peak() != 100 {
		t.Errorf("%d bytes in use and %d at most, want 40 and 100", d.Bytes(), d.Peak())
	}
	x := []float32{1}
	d.Read(x, a)
	if x[0] != 0 {
		t.Errorf("read %v from nothing", x[0])
	}
	defer func() {
		if e, ok := recover().(*device.OutOfMemory); !ok || e.Need != 64 || e.Free != 60 {
			t.Errorf("beyond the limit: %v", e)
		}
	}()
	d.Alloc(16)
}
