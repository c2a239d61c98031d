package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

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
