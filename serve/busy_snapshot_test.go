package serve

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/predict"
)

// A snapshot waits for its turn where requests are refused because too many wait. Without one, old events would not
// leave the log.
func TestSnapshotOfABusyServer(t *testing.T) {
	w := newWorld(t, "tgn", "strict")
	s := w.server(t, func(o *Options) {
		o.Limits.Waiting = 4
		o.Snapshots.File = filepath.Join(t.TempDir(), "snapshot")
	})
	l := s.models.current.Load().quick
	begun, end := make(chan bool), make(chan bool)
	later := func(do func()) {
		go l.ask(&job{ctx: context.Background(), do: func(*predict.Predictor, *resolver) error { do(); return nil }})
	}
	later(func() { close(begun); <-end })
	<-begun
	for range cap(l.jobs) {
		later(func() {})
	}
	for len(l.jobs) < cap(l.jobs) {
		time.Sleep(time.Millisecond)
	}
	written := make(chan error, 1)
	go func() { written <- s.snapshotter.write() }()
	time.Sleep(50 * time.Millisecond) // it waits by now
	close(end)
	if err := <-written; err != nil {
		t.Error(err)
	}
}
