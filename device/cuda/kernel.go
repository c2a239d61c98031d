//go:build linux && !nogpu

package cuda

import (
	"regexp"
	"strings"
)

// kernel is a compiled kernel, and what its declaration says of its parameters.
type kernel struct {
	function uintptr
	params   []param
}

// param says what a kernel does with a parameter.
type param uint8

const (
	value  param = iota // a number, or a structure
	reads               // const T*: reads what it points to
	writes              // T*: writes there, and may read
)

var declaration = regexp.MustCompile(`(?m)^KERNEL (\w+)\(([^)]*)\)`)

// declared finds the kernels in their source.
func declared(source string) map[string]kernel {
	found := map[string]kernel{}
	for _, m := range declaration.FindAllStringSubmatch(source, -1) {
		var params []param
		for _, p := range strings.Split(m[2], ",") {
			switch p = strings.TrimSpace(p); {
			case !strings.Contains(p, "*"):
				params = append(params, value)
			case strings.HasPrefix(p, "const "):
				params = append(params, reads)
			default:
				params = append(params, writes)
			}
		}
		found[m[1]] = kernel{params: params}
	}
	return found
}
