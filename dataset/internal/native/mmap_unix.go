//go:build unix

package native

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a whole file of that size into memory, read only.
func mapFile(f *os.File, size int64) ([]byte, func() error, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return data, func() error { return unix.Munmap(data) }, nil
}

// forget lets go of the pages of a mapped file. The system keeps them as long as it has room, and hands them out again
// when they are read.
func forget(mapped []byte) { _ = unix.Madvise(mapped, unix.MADV_DONTNEED) }
