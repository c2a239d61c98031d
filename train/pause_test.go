package train_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/dygmamba/dygmamba/run"
)

// A training that pauses after an epoch has looked at no test, and goes on as if it had never paused.
func TestPause(t *testing.T) {
	whole := small(t, t.TempDir())
	want, err := whole.Train(t.Context())
	if err != nil || want.Paused {
		t.Fatal(want.Paused, err)
	}
	dir := t.TempDir()
	for until := 1; until <= 5; until++ { // there are three epochs
		r := small(t, dir)
		r.Resume, r.Until = true, until
		got, err := r.Train(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Epochs != min(until, 3) || got.Paused != (until < 3) || len(got.History) != got.Epochs ||
			got.Results != nil {
			t.Errorf("until %d: %d epochs, paused %v, %d results", until, got.Epochs, got.Paused, len(got.Results))
		}
		if _, err := os.Stat(filepath.Join(dir, run.ResultFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("until %d there is a result: %v", until, err)
		}
	}
	r := small(t, dir)
	r.Resume = true
	got, err := r.Train(t.Context())
	if err != nil || got.Results[0].AP != want.Results[0].AP || got.BestEpoch != want.BestEpoch {
		t.Errorf("got %+v, want %+v, %v", got, want, err)
	}
	if !bytes.Equal(read(t, dir, run.CheckpointFile), read(t, whole.Dir, run.CheckpointFile)) {
		t.Error("pauses changed the best checkpoint")
	}
}
