//go:build !amd64

package cpu

// vectors says whether this machine can run the vector forms.
const vectors = false

func useVectors(*loops) string { return "" }
