//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used of the processors so far, on all its threads.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
