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

// scatter asks for small pages under a large buffer of which few places may be written. It is a hint.
func scatter(s []float32) {
	_ = unix.Madvise(pagesOf(s), unix.MADV_NOHUGEPAGE)
	vacate(s)
}

// vacate zeroes a large buffer by giving its pages back to the system, which hands out zeroed ones when they are used
// again. It says whether that was possible.
func vacate(s []float32) bool {
	whole := pagesOf(s)
	if unix.Madvise(whole, unix.MADV_DONTNEED) != nil {
		return false
	}
	skip := int(uintptr(unsafe.Pointer(&whole[0]))-uintptr(unsafe.Pointer(&s[0]))) / 4
	clear(s[:skip])
	clear(s[skip+len(whole)/4:])
	return true
}

// pagesOf is the whole pages of a buffer that has some.
func pagesOf(s []float32) []byte {
	page := unix.Getpagesize()
	first := uintptr(unsafe.Pointer(&s[0]))
	skip := int(-first%uintptr(page)) / 4
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[skip])), 4*(len(s)-skip)/page*page)
}
