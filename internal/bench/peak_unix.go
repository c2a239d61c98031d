//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
)

// peakBytes is the largest resident set of a process that has ended.
func peakBytes(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" { // elsewhere in units of 1024 bytes
		return usage.Maxrss
	}
	return int64(usage.Maxrss) << 10
}
