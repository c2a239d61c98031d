package dry_test

import (
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/dry"
)

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
