package table

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/native"
)

// stopping cancels a context when it has been read to the end, as Ctrl-C stops all programs of a pipe.
type stopping struct {
	io.Reader
	stop func()
}

func (s stopping) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		s.stop()
	}
	return n, err
}

// Input that ended because everything was stopped may not be all there is.
func TestImportStopsAtAnEarlyEnd(t *testing.T) {
	for _, text := range []string{"u,v,t\n1,2,3\n", "u,v,t\n"} {
		ctx, stop := context.WithCancel(t.Context())
		in, err := input.New("pipe", stopping{strings.NewReader(text), stop})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := native.Create("")
		if err := newImporter(Options{MaxProblems: 1}, w).file(ctx, in); !errors.Is(err, context.Canceled) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Ctrl-C also ends the wait for standard input that does not come.
func TestImportWaitsForStandardInputOnlySoLong(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	was := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = was }()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := Import(ctx, []string{"-"}, "", Options{})
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still waiting")
	}
}

// What is read to the end is not written any more once the context has ended.
func TestImportStopsBeforeWriting(t *testing.T) {
	in, err := input.New("x", strings.NewReader("u,v,t\n1,2,3\n"))
	if err != nil {
		t.Fatal(err)
	}
	w, _ := native.Create("")
	im := newImporter(Options{MaxProblems: 1}, w)
	if err := im.file(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := im.finish(ctx, []string{"x"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
