package disk

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestFree(t *testing.T) {
	dir := t.TempDir()
	if n, ok := Free(dir); ok != (runtime.GOOS == "linux" || runtime.GOOS == "darwin" || runtime.GOOS == "freebsd") ||
		ok && n <= 0 {
		t.Error(n, ok)
	}
	if _, ok := Free(filepath.Join(dir, "none")); ok {
		t.Error("there is space in a directory that does not exist")
	}
}
