//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package embedded

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// syncDir does nothing: directories cannot be synced here.
func syncDir(string) error { return nil }

// full says whether there was no room for what was written.
func full(err error) bool {
	const diskFull, handleDiskFull = syscall.Errno(112), syscall.Errno(39) // as Windows numbers them
	return errors.Is(err, syscall.ENOSPC) ||
		runtime.GOOS == "windows" && (errors.Is(err, diskFull) || errors.Is(err, handleDiskFull))
}

// unlock does nothing: the lock ends with the process.
func unlock(*os.File) {}
