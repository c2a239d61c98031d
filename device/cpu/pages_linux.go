package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a large page on the platforms that matter.
const hugePage = 2 << 20

// spread asks for large pages under a large buffer: kernels stream through memory, and with small pages every 1024
// numbers cost an address translation. It is a hint; nothing depends on it.
func spread(s []float32) {
	if 4*len(s) < 2*hugePage {
		return
	}
	first := uintptr(unsafe.Pointer(&s[0]))
	skip := int(-first%hugePage) / 4
	whole := (len(s) - skip) / (hugePage / 4) * (hugePage / 4)
	if whole <= 0 {
		return
	}
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Pointer(&s[skip])), 4*whole), unix.MADV_HUGEPAGE)
}
