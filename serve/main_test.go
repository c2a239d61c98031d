package serve

import (
	"os"
	"testing"
)

// TestMain keeps what was trained until all tests are over.
func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range kept {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

var kept []string

func keepDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dygmamba-serve-")
	if err != nil {
		t.Fatal(err)
	}
	kept = append(kept, dir)
	return dir
}
