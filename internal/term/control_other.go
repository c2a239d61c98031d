//go:build !windows

package term

import "os"

func enableControl(*os.File) bool { return true }
