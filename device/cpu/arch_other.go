//go:build !amd64

package cpu

// vectors says whether this machine can run the vector forms, of which there are none.
const vectors = false

var vector loops
