//go:build linux || darwin || freebsd

package disk

import "syscall"

// Free is the number of bytes that this process may still write to files in a directory; false where the system does
// not tell.
func Free(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
