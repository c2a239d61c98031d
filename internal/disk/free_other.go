//go:build !(linux || darwin || freebsd)

package disk

// Free is not known here.
func Free(string) (int64, bool) { return 0, false }
