package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// The outlook counts what patience and the number of epochs leave, and knows what an epoch takes once there was one.
func TestOutlook(t *testing.T) {
	job := small(t, "", "num_epochs=9", "patience=2", "learning_rate=0.00001")
	var steps []train.Step
	var epochs []run.Epoch
	job.OnStep = func(s train.Step) { steps = append(steps, s) }
	job.OnEpoch = func(e run.Epoch) { epochs = append(epochs, e) }
	if _, err := job.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	waited := 0 // epochs without a better one, before this
	for i, s := range steps {
		if i > 0 && s.Epoch != steps[i-1].Epoch {
			if waited++; epochs[s.Epoch-2].Improved {
				waited = 0
			}
		}
		o, part := s.Outlook, float64(s.Done)/float64(s.Total)
		most, least := 10-float64(s.Epoch)-part, 2-float64(waited)-part
		if s.Epoch == 1 {
			least++
		}
		if o.Most != most || o.Least != min(least, most) || (o.Epoch > 0) != (s.Epoch > 1) {
			t.Fatalf("epoch %d, %d events: %+v, want %v to %v epochs", s.Epoch, s.Done, o, min(least, most), most)
		}
	}
	last := steps[len(steps)-1].Outlook
	took := epochs[len(epochs)-2].Seconds
	if spent := last.Epoch.Seconds(); len(epochs) > 1 && !(spent > 0 && spent < 100*(took.Train+took.Evaluate)) {
		t.Errorf("an epoch takes %v, the one before took %+v", last.Epoch, took)
	}
	o := train.Outlook{Epoch: time.Minute, Least: 1.5, Most: 7.5, Patience: 2, Epochs: 9}
	for more, want := range map[int][2]time.Duration{0: {90 * time.Second, 450 * time.Second}, 2: {450 * time.Second,
		25*time.Minute + 30*time.Second}} {
		if least, most := o.Range(more); least != want[0] || most != want[1] {
			t.Errorf("with %d more: %v to %v, want %v", more, least, most, want)
		}
	}
}

// A training that runs out of time ends with its best epoch, says so, and goes on later as if nothing had happened.
func TestMaxTime(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	if _, err := small(t, whole).Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	job := small(t, dir)
	job.OnEpoch = func(e run.Epoch) {
		if e.Epoch == 1 {
			job.Deadline = time.Now().Add(time.Millisecond)
		}
	}
	r, err := job.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Ended != run.EndedByTime || r.Epochs != 1 || r.BestEpoch != 1 || r.Val == nil || len(r.Results) == 0 {
		t.Errorf("ended with %+v", r)
	}
	if raw := string(read(t, dir, run.ResultFile)); !strings.Contains(raw, `"ended": "max-time"`) {
		t.Errorf("the result is\n%s", raw)
	}
	again, err := goOn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.Ended != "" || again.Epochs != 3 || !bytes.Equal(read(t, whole, run.CheckpointFile), read(t, dir,
		run.CheckpointFile)) {
		t.Errorf("went on to %+v, or to other weights", again)
	}
}

// Without even one epoch, what there is is kept.
func TestHardlyAnyTime(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		job := small(t, dir)
		job.OnStep = func(s train.Step) {
			if s.Done > 300 {
				time.Sleep(time.Until(job.Deadline))
			}
		}
		job.Deadline = time.Now().Add(time.Second)
		r, err := job.Train(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Ended != run.EndedByTime || r.Epochs != 0 || r.BestEpoch != 0 || len(r.Results) == 0 {
			t.Errorf("ended with %+v", r)
		}
		if dir == "" {
			continue
		}
		if _, err := checkpoint.Load(filepath.Join(dir, run.CheckpointFile)); err != nil {
			t.Error(err)
		}
		if r, err := goOn(t, dir); err != nil || r.Epochs != 3 || r.Ended != "" {
			t.Errorf("went on to %+v, %v", r, err)
		}
	}
}

// A training that was cut short inside its first epoch says how many events it has seen. Once it goes on and a better
// epoch replaces the checkpoint, the old result is gone: it is not about these weights.
func TestResultIsOfItsCheckpoint(t *testing.T) {
	dir := t.TempDir()
	job := small(t, dir)
	job.OnStep = func(s train.Step) {
		if s.Done > 300 {
			time.Sleep(time.Until(job.Deadline))
		}
	}
	job.Deadline = time.Now().Add(time.Second)
	if _, err := job.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	var noted struct {
		Seen   int    `json:"train_events"`
		Epochs int    `json:"epochs"`
		Hash   string `json:"checkpoint_sha256"`
	}
	if err := json.Unmarshal(read(t, dir, run.ResultFile), &noted); err != nil {
		t.Fatal(err)
	}
	if n := job.Protocol.Split().Train.Len(); noted.Seen < 400 || noted.Seen >= n || noted.Epochs != 0 {
		t.Errorf("noted %+v of %d training events", noted, n)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	again := small(t, dir)
	again.Resume = true
	again.OnEpoch = func(run.Epoch) { stop() }
	if _, err := again.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if hash, err := run.Dir(dir).Hash(run.CheckpointFile); err != nil || hash == noted.Hash {
		t.Fatalf("the checkpoint was not replaced: %v", err)
	}
	if _, err := run.ReadResult(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a result of a checkpoint that is gone: %v", err)
	}
	if !run.IsUnfinished(dir) {
		t.Error("the training counts as finished")
	}
}
