//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Lock keeps other processes from training into a directory until it is closed or the process ends, however it ends. A
// file system that knows no locks has none.
func (d Dir) Lock() (io.Closer, error) {
	f, err := os.Open(string(d))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("%s is being trained into by another process", d)
	}
	return f, nil
}

// wait is lock for a moment's work: it waits until others have closed theirs.
func (d Dir) wait() (io.Closer, error) {
	f, err := os.Open(string(d))
	if err != nil {
		return nil, err
	}
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) {
	}
	return f, nil
}
