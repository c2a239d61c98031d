package train_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// limited is a small training on parts of the events.
func limited(t *testing.T, dir string, l eval.Limits) *train.Run {
	job := small(t, dir)
	job.Protocol = job.Protocol.Limit(l)
	return job
}

// Validation asks about the same sample after every epoch, and an epoch has the latest events. Interrupted in the
// middle of an epoch the training goes on to the same bytes.
func TestLimited(t *testing.T) {
	limits := eval.Limits{Train: 400, Val: 100, Test: 100}
	whole, dir := t.TempDir(), t.TempDir()
	job := limited(t, whole, limits)
	var asked [][]event.Time
	job.Protocol = job.Protocol.With(func(o *eval.Options) {
		o.OnAnswers = func(a eval.Answers) {
			if len(a.Queries) != 2*a.Paired {
				t.Errorf("%d queries about %d events", len(a.Queries), a.Paired)
			}
			var times []event.Time
			for _, q := range a.Queries {
				times = append(times, q.Time)
			}
			asked = append(asked, times)
		}
	})
	r, err := job.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	perEpoch := (len(asked) - 2) / 3 // the two tests have a batch each
	for i := perEpoch; i < 3*perEpoch; i++ {
		if !slices.Equal(asked[i], asked[i%perEpoch]) {
			t.Errorf("validation %d asks about other events than the first", i/perEpoch+1)
		}
	}
	last := job.Protocol.Whole().Train.All()
	if s := r.Sampled; s == nil || s.Events != 400 || s.Of != last.Len() || s.Last != last.Time[last.Len()-1] ||
		r.TrainEvents != 3*400 {
		t.Errorf("trained on %+v, %d events in all", r.Sampled, r.TrainEvents)
	}
	if r.Val.Sampled == nil || r.Val.Sampled.Events != 100 || r.Results[0].Sampled == nil || r.Mark() == "" ||
		r.Results[0].Positives != 100 {
		t.Errorf("measured on %+v and %+v: %s", r.Val.Sampled, r.Results[0].Sampled, r.Mark())
	}
	ctx, stop := context.WithCancel(t.Context())
	cut := limited(t, dir, limits)
	cut.OnStep = func(s train.Step) {
		if s.Epoch == 2 && s.Done == 200 {
			stop()
		}
	}
	if _, err := cut.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	again := limited(t, dir, limits)
	again.Resume = true
	if _, err := again.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, whole, run.CheckpointFile), read(t, dir, run.CheckpointFile)) {
		t.Error("went on to other weights")
	}
	other := limited(t, dir, eval.Limits{Train: 500, Val: 100, Test: 100})
	other.Resume = true
	if _, err := other.Train(t.Context()); err == nil {
		t.Error("went on with another part of the events")
	}
}

// Fit says that all events fit where there is time, and leaves nothing behind: the training is the same to the byte.
func TestFitLeavesNothing(t *testing.T) {
	plain, timed := t.TempDir(), t.TempDir()
	if _, err := small(t, plain).Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	job := small(t, timed)
	job.Deadline = time.Now().Add(time.Hour)
	limits, err := job.Fit(t.Context())
	if err != nil || limits.Any() || job.Pace.Step <= 0 || job.Pace.Score <= 0 {
		t.Fatalf("%+v at %+v, %v", limits, job.Pace, err)
	}
	if _, err := job.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{run.CheckpointFile, run.ConfigFile} {
		if !bytes.Equal(read(t, plain, file), read(t, timed, file)) {
			t.Errorf("%s differs from that of a training without a time limit", file)
		}
	}
}

// With parts of the events the time limit holds for all of it, the test included.
func TestLimitedInTime(t *testing.T) {
	job := small(t, t.TempDir(), "num_epochs=100000", "patience=100000")
	job.Deadline = time.Now().Add(2 * time.Second)
	if _, err := job.Fit(t.Context()); err != nil {
		t.Fatal(err)
	}
	job.Protocol = job.Protocol.Limit(eval.Limits{Train: 100, Val: 100})
	r, err := job.Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if late := time.Since(job.Deadline); late > 2*time.Second {
		t.Errorf("ended %v after the deadline", late)
	}
	if r.Sampled == nil || r.Epochs == 0 || len(r.Results) == 0 || r.Ended != run.EndedByTime {
		t.Errorf("ended with %+v", r)
	}
}

// A limit of memory is for events, their indexes and batches too.
func TestMemoryLimitOfTheHost(t *testing.T) {
	job := small(t, t.TempDir())
	job.MemoryLimit = 1 << 20
	_, err := job.Train(t.Context())
	var short *train.MemoryError
	if !errors.As(err, &short) || short.Host < 1200*(16+32) || short.Host > 4<<20 || short.Need < 1<<20 {
		t.Errorf("%v", err)
	}
}
