// Package memory answers: how much may this process still take?
package memory

import (
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// Available is the memory that this process can still take: what is free on the machine, within the limits that are
// set to its control groups and to itself. 0 where the system does not tell.
func Available() int64 { return system{"/", limits}.available() }

// Heed makes the garbage collector work harder rather than go beyond what is available now. Whoever sets GOMEMLIMIT
// knows better.
func Heed() {
	if free := Available(); free > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(free - free/20)
	}
}

// Limit makes the garbage collector work harder rather than go beyond this many bytes, until undo is called. 0 changes
// nothing.
func Limit(bytes int64) (undo func()) {
	was := debug.SetMemoryLimit(-1)
	if bytes > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(min(bytes, was))
	}
	return func() { debug.SetMemoryLimit(was) }
}

// system is where facts about memory are found: below root, and what limits says of the process.
type system struct {
	root   string
	limits func() []limit
}

// limit is one that the process has: it may take this many bytes of what the named line of its status counts.
type limit struct {
	line string
	most uint64
}

// endless is more than there is.
const endless = math.MaxInt64

func (s system) available() int64 {
	free, ok := s.kibibytes("proc/meminfo", "MemAvailable")
	if !ok {
		free = endless
	}
	for _, group := range s.groups() {
		free = min(free, group.left())
	}
	for _, l := range s.limits() {
		if used, ok := s.kibibytes("proc/self/status", l.line); ok && l.most < endless {
			free = min(free, int64(l.most)-used)
		}
	}
	if free == endless {
		return 0
	}
	return max(free, 1) // 0 would mean that nobody knows
}

// kibibytes finds a line such as "VmSize:  1234 kB".
func (s system) kibibytes(file, line string) (int64, bool) {
	for text := range s.lines(file) {
		name, value, _ := strings.Cut(text, ":")
		if fields := strings.Fields(value); name == line && len(fields) == 2 {
			kib, err := strconv.ParseInt(fields[0], 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// lines are those of a file; there are none where it cannot be read.
func (s system) lines(file string) iter.Seq[string] {
	raw, _ := os.ReadFile(filepath.Join(s.root, file))
	return strings.SplitSeq(string(raw), "\n")
}
