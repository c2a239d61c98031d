//go:build !unix

package native

import (
	"io"
	"os"
	"unsafe"
)

// mapFile reads a whole file of that size; the bytes are aligned to 8.
func mapFile(f *os.File, size int64) ([]byte, func() error, error) {
	words := make([]int64, (size+7)/8)
	data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)[:size]
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}

// forget does nothing: the bytes are in memory of their own.
func forget([]byte) {}
