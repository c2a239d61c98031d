//go:build unix

package serve

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
)

// A pipe in a directory of models, which nobody writes to, is refused and not read.
func TestReloadOfPipe(t *testing.T) {
	models := t.TempDir()
	pipe := filepath.Join(models, "pipe.safetensors")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	s := newWorld(t, dygmamba.DefaultModel).server(t, func(o *Options) { o.Models = []string{models} })
	code := make(chan int, 1)
	go func() {
		r := call(s.Handler(), http.MethodPost, "/v1/admin/reload", fmt.Sprintf(`{"checkpoint": %q}`, pipe))
		code <- r.Code
	}()
	select {
	case got := <-code:
		if got != 409 {
			t.Errorf("%d, want 409", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("the reload does not end")
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil { // now it does
			f.Close()
		}
	}
}
