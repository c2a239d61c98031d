// Package memory answers: how much is left on this machine?
package memory

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// Available is the memory that processes can still take on this machine, 0 where the system does not tell.
func Available() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemAvailable:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
