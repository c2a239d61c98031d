//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package atomicfile

import (
	"os"
	"time"
)

const renamesOpen = false

// hold does nothing here: age must tell.
func hold(*os.File) (others bool, err error) { return false, nil }

// abandoned says whether a file was not written to for a day.
func abandoned(path string) bool {
	info, err := os.Stat(path)
	return err == nil && time.Since(info.ModTime()) > 24*time.Hour
}
