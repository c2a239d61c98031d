package cpu

import (
	"unsafe"

	"github.com/dygmamba/dygmamba/device"
)

// kept is what was derived of numbers that stay as they are. A product with few rows takes as long to pack its second
// operand as to multiply by it.
type kept struct {
	still []device.Buffer
	packs map[packKey][]float32
}

// packKey is a matrix as it is packed.
type packKey struct {
	first        *float32
	stride, k, n int
	turned       bool
}

// mostKept bounds the floats of all packs: beyond, matrices are packed anew each time.
const mostKept = 64 << 20

// Keep lets the device keep b packed.
func (d *Device) Keep(b device.Buffer) {
	if b.Len > 0 {
		d.kept.still = append(d.kept.still, b)
	}
}

// packOf is B packed, if it is one to keep; fresh says that it is still to be filled.
func (t *productTask) packOf(size int) (pack []float32, fresh bool) {
	k := &t.d.kept
	if len(k.still) == 0 || t.ownB() || t.b.Buf.Len == 0 || !k.has(t.b.Buf) {
		return nil, false
	}
	key := packKey{&t.b.Buf.Host[0], t.b.Stride, t.k, t.n, t.g.TransB}
	if pack, ok := k.packs[key]; ok {
		return pack, false
	}
	total := size
	for _, p := range k.packs {
		total += len(p)
	}
	if total > mostKept {
		return nil, false
	}
	if k.packs == nil {
		k.packs = map[packKey][]float32{}
	}
	pack = make([]float32, size)
	k.packs[key] = pack
	return pack, true
}

// has says whether b lies in what is kept.
func (k *kept) has(b device.Buffer) bool {
	for _, s := range k.still {
		if overlap(s, b) {
			return true
		}
	}
	return false
}

// changed forgets what was kept of b.
func (k *kept) changed(b device.Buffer) {
	if len(k.packs) > 0 && k.has(b) {
		clear(k.packs)
	}
}

// forget forgets all packs.
func (k *kept) forget() { clear(k.packs) }

// freed forgets b.
func (k *kept) freed(b device.Buffer) {
	for i := len(k.still) - 1; i >= 0; i-- {
		if overlap(k.still[i], b) {
			k.still = append(k.still[:i], k.still[i+1:]...)
			clear(k.packs)
		}
	}
}

// overlap says whether two buffers share memory.
func overlap(a, b device.Buffer) bool {
	if a.Len == 0 || b.Len == 0 {
		return false
	}
	x, y := uintptr(unsafe.Pointer(&a.Host[0])), uintptr(unsafe.Pointer(&b.Host[0]))
	return x < y+4*uintptr(b.Len) && y < x+4*uintptr(a.Len)
}
