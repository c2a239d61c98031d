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
