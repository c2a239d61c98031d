//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package native

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock keeps other processes from replacing a file until unlock is called. A process that ends unlocks.
func Lock(path string) (unlock func(), err error) {
	for {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("%s is being replaced by another process: wait for that, then try again", path)
		} // other errors mean that this file system has no locks
		mine, err := f.Stat()
		now, errNow := os.Stat(path)
		if err == nil && errNow == nil && os.SameFile(mine, now) {
			return func() { f.Close() }, nil
		}
		f.Close() // what is locked has been replaced meanwhile
		if errNow != nil {
			return nil, errNow
		}
	}
}
