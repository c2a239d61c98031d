//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package train

import "io"

// lock does nothing here: directories cannot be locked.
func (d dir) lock() (io.Closer, error) { return io.NopCloser(nil), nil }

func (d dir) wait() (io.Closer, error) { return io.NopCloser(nil), nil }
