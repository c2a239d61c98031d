package train_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/train"
)

// Two trainings in one directory would write into each other's files.
func TestOneTrainingAtATime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories cannot be locked here")
	}
	dir := t.TempDir()
	run, other := small(t, dir, "num_epochs=1"), small(t, dir, "num_epochs=1")
	other.Resume = true
	var second error
	run.OnStep = func(train.Step) {
		if second == nil {
			if _, second = other.Train(t.Context()); second == nil {
				t.Fatal("a second training began in the same directory")
			}
		}
	}
	if _, err := run.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(second.Error(), dir+" is being trained into by another process") {
		t.Errorf("the second training failed with %v", second)
	}
	if _, err := other.Train(t.Context()); err != nil {
		t.Errorf("the lock outlives its training: %v", err)
	}
}

// A training that is refused leaves the directory as it was.
func TestRefusedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	run := small(t, dir, "num_epochs=1")
	if _, err := run.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	run.TensorBoard = true
	if _, err := run.Train(t.Context()); err == nil {
		t.Fatal("a finished training was begun again")
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "events.*")); len(files) > 0 {
		t.Errorf("%v were left", files)
	}
}

// Resuming what is finished measures again, but takes no step: the memory of one stays as recorded.
func TestFinishedKeepsPeak(t *testing.T) {
	run := small(t, t.TempDir(), "num_epochs=1")
	before, err := run.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run.Resume = true
	after, err := run.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if before.Peak != after.Peak {
		t.Errorf("a step took %d bytes, after resuming %d", before.Peak, after.Peak)
	}
}

// Whoever hears of an interruption relies on what was saved.
func TestInterruptedButNotSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := small(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	run.OnStep = func(train.Step) {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	_, err := run.Train(ctx)
	if err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "save the state") {
		t.Errorf("got %v, want that the state was not saved", err)
	}
}
