//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package embedded

import "os"

// syncDir does nothing: directories cannot be synced here.
func syncDir(string) error { return nil }

// unlock does nothing: the lock ends with the process.
func unlock(*os.File) {}
