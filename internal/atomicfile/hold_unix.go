//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// renamesOpen says that an open file can be renamed.
const renamesOpen = true

// hold shows others that someone still writes to f, until it is closed, unless another holds it. Where the file system
// knows no locks, nobody can tell.
func hold(f *os.File) (others bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK), err
}

// abandoned says whether nobody holds a file.
func abandoned(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = hold(f)
	return err == nil
}
