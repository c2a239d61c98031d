package native

import (
	"encoding/binary"
	"unsafe"
)

// scalar is what sections are made of.
type scalar interface {
	~byte | ~int32 | ~int64 | ~float32 | ~float64
}

// littleEndian says whether numbers lie in memory as they do in the file.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Bytes is the little-endian bytes of a column, its own memory where possible.
func Bytes[T scalar](col []T) []byte {
	if len(col) == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(col[0]))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(col))), size*len(col))
	if littleEndian || size == 1 {
		return raw
	}
	return swapped(raw, size)
}

// columnOf is the column that little-endian bytes hold, in their own memory where possible. They must be aligned to 8
// bytes.
func columnOf[T scalar](raw []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(raw) < size {
		return nil
	}
	if !littleEndian && size > 1 {
		raw = swapped(raw, size)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/size)
}

// swapped copies values of size bytes with their bytes turned round.
func swapped(raw []byte, size int) []byte {
	words := make([]int64, (len(raw)+7)/8) // for the alignment
	out := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)[:len(raw)]
	for i := 0; i+size <= len(raw); i += size {
		for j := range size {
			out[i+j] = raw[i+size-1-j]
		}
	}
	return out
}
