package serve

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/predict"
)

// TestSnapshotHasDerivedState: a snapshot has what WalkMamba derives from the events. Whoever takes it up goes through
// the later events only; whoever finds it damaged goes through all.
func TestSnapshotHasDerivedState(t *testing.T) {
	w := newWorld(t, "walkmamba")
	log, file := eventlog.NewMemory(), filepath.Join(t.TempDir(), "snapshot")
	s, err := w.open(func(o *Options) { o.Log, o.Snapshots = log, Snapshots{File: file} })
	if err != nil {
		t.Fatal(err)
	}
	n, more := w.early.Log.Len(), 20
	for w.whole.Log.At(n+more).Time == w.whole.Log.At(n+more-1).Time { // the next event is of another instant
		more++
	}
	ask[receiptDoc](t, s, "POST", "/v1/events", w.body(n, n+more))
	logits(t, w, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept, f, err := openSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if kept.memory == nil || kept.memory.Events != n+more {
		t.Fatalf("the snapshot has %+v, want the state of %d events", kept.memory, n+more)
	}
	left := func(r predict.Remembered) (left int, failed error) {
		past := predict.NewPast(w.whole.First(n + more + 5))
		p, err := predict.Load(w.run, predict.Options{Set: w.whole.First(n + more + 5), Live: past, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Look(past.Now()); err != nil {
			t.Fatal(err)
		}
		failed = p.Recall(r)
		if left, err = p.CatchUp(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
		return left, failed
	}
	if left, err := left(kept.memory.Remembered); err != nil || left != 5 {
		t.Errorf("%d events are left to go through, want 5: %v", left, err)
	}
	bad := kept.memory.Remembered
	bad.State = bad.State[1:]
	if left, err := left(bad); err == nil || left != n+more+5 {
		t.Errorf("%d events are left to go through, want all %d: %v", left, n+more+5, err)
	}
}
