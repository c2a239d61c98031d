package memory

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of a large page on the platforms that matter.
const hugePage = 2 << 20

// Huge asks for large pages under a large slice that was just made, and returns it. With small pages, random places of
// a large table cost an address translation each, which takes as long as reading it. It is a hint; nothing depends on
// it. T has no pointers.
func Huge[T any](s []T) []T {
	size := uintptr(cap(s)) * unsafe.Sizeof(*new(T))
	if size < 2*hugePage {
		return s
	}
	first := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	skip := -first % hugePage
	whole := (size - skip) / hugePage * hugePage
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), size)
	_ = syscall.Madvise(bytes[skip:skip+whole], syscall.MADV_HUGEPAGE)
	return s
}
