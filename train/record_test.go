package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/train"
)

// The configuration tells data, split and negatives apart, and anyone may read the files.
func TestConfigRecords(t *testing.T) {
	dir := t.TempDir()
	job := small(t, dir, "num_epochs=1")
	if _, err := job.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	var c run.Config
	if err := json.Unmarshal(read(t, dir, run.ConfigFile), &c); err != nil {
		t.Fatal(err)
	}
	val, err := job.Protocol.Evaluate(t.Context(), blind{}, eval.Val, protocol.RandomNegatives)
	if err != nil {
		t.Fatal(err)
	}
	want := (run.Hashes{Data: job.Set.Hash(), Split: job.Protocol.Split().Hash, Negatives: val.Negatives})
	if c.Hashes != want || want.Negatives == "" {
		t.Errorf("hashes are %+v, want %+v", c.Hashes, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o444 != 0o444 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

// blind scores without looking.
type blind struct{}

func (blind) Plan() sample.Plan                          { return sample.Plan{} }
func (blind) Score(b *sample.Batch, out []float32) error { clear(out); return nil }

// TestResumeBetweenEpochs interrupts when an epoch has ended and batches of the next may have been drawn ahead already,
// but none was learned from.
func TestResumeBetweenEpochs(t *testing.T) {
	whole := t.TempDir()
	if _, err := small(t, whole).Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		dir := t.TempDir()
		for cuts := 0; ; cuts++ {
			job := small(t, dir)
			job.Resume = true
			ctx, cancel := context.WithCancel(t.Context())
			job.OnEpoch = func(e run.Epoch) {
				if e.Epoch < 3 {
					time.AfterFunc(200*time.Microsecond, cancel)
				}
			}
			_, err := job.Train(ctx)
			cancel()
			if err == nil && cuts < 2 {
				t.Log("an interruption came too late")
			}
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(read(t, whole, run.CheckpointFile), read(t, dir, run.CheckpointFile)) {
			t.Fatal("a training that was interrupted between epochs ended with other weights")
		}
	}
}

// A refusal names what changed, and nothing else.
func TestResumeNamesChanges(t *testing.T) {
	dir := t.TempDir()
	if _, err := small(t, dir, "num_epochs=1").Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := small(t, dir, "num_epochs=1", "dropout=0.3", "batch_size=50")
	other.Resume, other.Seed = true, 9
	_, err := other.Train(t.Context())
	if err == nil {
		t.Fatal("resumed with another configuration")
	}
	for _, part := range []string{"batch_size was 100 and is now 50", "dropout was 0.1 and is now 0.3",
		"seed was 1 and is now 9"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "num_layers") {
		t.Errorf("%q names what did not change", err)
	}
}

// The memory foretold is what a step takes, also when there are fewer events than a batch has.
func TestMemoryIsForetold(t *testing.T) {
	for _, size := range []string{"batch_size=100", "batch_size=700", "batch_size=5000"} {
		job := small(t, "", "num_epochs=1", size)
		r, err := job.Train(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		job.MemoryLimit = 1
		_, err = job.Train(t.Context())
		var short *train.MemoryError
		if !errors.As(err, &short) {
			t.Fatalf("%s: one byte of memory gave %v", size, err)
		}
		if short.Need < r.Peak || float64(short.Need) > 1.3*float64(r.Peak)+4e6 {
			t.Errorf("%s: %d bytes were foretold, a step took %d", size, short.Need, r.Peak)
		}
	}
}

// What is too short to validate or test on can still be learned from.
func TestFewEvents(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7} {
		log := event.NewLog(n)
		for i := range n {
			if _, err := log.Append(event.Event{Src: 1, Dst: event.Node(2 + i%2), Time: event.Time(i)}); err != nil {
				t.Fatal(err)
			}
		}
		job := small(t, t.TempDir(), "num_epochs=2")
		job.Set = &dataset.Set{Name: "few", Log: log, Sampling: protocol.Native}
		split, err := dataset.NewSplit(log, dataset.SplitOptions{Sampling: protocol.Native})
		if err != nil {
			t.Fatal(err)
		}
		job.Protocol = eval.NewProtocol(split, eval.Options{Sampling: protocol.Native, BatchSize: 100})
		r, err := job.Train(t.Context())
		if err != nil {
			t.Errorf("%d events: %v", n, err)
			continue
		}
		if (r.Val != nil) != (split.Val.Len() > 0) || (len(r.Results) > 0) != (split.Test.Len() > 0) {
			t.Errorf("%d events: val %v of %d, %d results of %d",
				n, r.Val, split.Val.Len(), len(r.Results), split.Test.Len())
		}
		if _, err := os.Stat(filepath.Join(job.Dir, run.CheckpointFile)); errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d events: no checkpoint", n)
		}
	}
}
