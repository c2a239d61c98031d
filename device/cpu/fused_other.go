//go:build !amd64

package cpu

func (f *fused) useVectors() {}
