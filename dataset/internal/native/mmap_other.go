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
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}
