//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package run

import "io"

// Lock does nothing here: directories cannot be locked.
func (d Dir) Lock() (io.Closer, error) { return io.NopCloser(nil), nil }

func (d Dir) wait() (io.Closer, error) { return io.NopCloser(nil), nil }
