package memory

import (
	"runtime"
	"testing"
)

func TestAvailable(t *testing.T) {
	const least, most = 1 << 20, 1 << 50
	if n := Available(); runtime.GOOS == "linux" && !(least < n && n < most) {
		t.Errorf("%d bytes are available", n)
	}
}
