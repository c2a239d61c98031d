package train_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// mixed are settings with all kinds of negatives, and an epoch that is chosen by all of them.
var mixed = []string{
	"num_epochs=2", "negatives_random=0.6", "negatives_historical=0.2", "negatives_time=0.2", "select_by=all",
}

// A training with mixed negatives that is stopped in the middle of an epoch goes on with the same draws, and its best
// epoch is that with the best mean over the three kinds.
func TestMixtureGoesOn(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	want, err := small(t, whole, mixed...).Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	best := 0.0
	for _, e := range want.History {
		if e.Others[protocol.HistoricalNegatives] == nil || e.Others[protocol.InductiveNegatives] == nil {
			t.Fatal("validation with other negatives is missing")
		}
		mean := (e.Val.AP + e.Others[protocol.HistoricalNegatives].AP + e.Others[protocol.InductiveNegatives].AP) / 3
		if e.Improved != (mean >= best) || math.Abs(e.Judged().AP-mean) > 1e-12 {
			t.Errorf("epoch %d has a mean of %v after %v and is judged %v, improved %v",
				e.Epoch, mean, best, e.Judged().AP, e.Improved)
		}
		best = max(best, mean)
	}
	if e := want.History[want.BestEpoch-1]; want.Val != e.Val || !maps.Equal(want.Others, e.Others) {
		t.Error("the result does not have the validation of its best epoch")
	}
	for _, steps := range []int{3, 11} { // of each epoch's nine or so
		ctx, stop := context.WithCancel(t.Context())
		job := small(t, dir, mixed...)
		job.Resume = true
		job.OnStep = func(train.Step) {
			if steps--; steps == 0 {
				stop()
			}
		}
		if _, err := job.Train(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("not interrupted: %v", err)
		}
	}
	if _, err := goOn(t, dir, mixed...); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, whole, run.CheckpointFile), read(t, dir, run.CheckpointFile)) {
		t.Error("a training that was stopped twice ended with other weights")
	}
	other := append([]string{}, mixed...)
	other[2] = "negatives_historical=0.3"
	if _, err := goOn(t, dir, other...); err == nil || !strings.Contains(err.Error(),
		"negatives_historical was 0.2 and is now 0.3") {
		t.Errorf("other shares: %v", err)
	}
	if _, err := goOn(t, dir, "num_epochs=2"); err == nil || !strings.Contains(err.Error(),
		"negatives_time was 0.2 and is now 0") {
		t.Errorf("no shares: %v", err)
	}
}

// What is as in the reference programs is not written down, so that older configurations keep their bytes.
func TestPlainNegativesAreNotWrittenDown(t *testing.T) {
	dir := t.TempDir()
	job := small(t, dir, "num_epochs=1", "negatives_random=1")
	if _, err := job.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{run.ConfigFile, run.CheckpointFile, run.LogFile} {
		raw := string(read(t, dir, name))
		if strings.Contains(raw, "negatives_") || strings.Contains(raw, "select_by") {
			t.Errorf("%s tells of mixed negatives", name)
		}
	}
	job = small(t, t.TempDir(), "num_epochs=1", "negatives_time=0.5")
	job.Protocol = eval.NewProtocol(job.Protocol.Split(), eval.Options{Sampling: job.Set.Sampling, BatchSize: 100})
	if _, err := job.Train(t.Context()); err == nil || !strings.Contains(err.Error(), "shares of negatives") {
		t.Errorf("a protocol with other shares: %v", err)
	}
}

// select_by=time chooses the epoch by who and when, and asks for an order in which that can be told.
func TestSelectByTime(t *testing.T) {
	result, err := small(t, t.TempDir(), "num_epochs=3", "negatives_time=0.5", "select_by=time").Train(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	best := 0.0
	for _, e := range result.History {
		if e.Others[protocol.TimeNegatives] == nil || e.Others[protocol.HistoricalNegatives] != nil {
			t.Fatal("validation with time negatives is missing, or others are there")
		}
		mean := (e.Val.AP + e.Others[protocol.TimeNegatives].AP) / 2
		if e.Improved != (mean >= best) || math.Abs(e.Judged().AP-mean) > 1e-12 {
			t.Errorf("epoch %d has a mean of %v after %v and is judged %v, improved %v",
				e.Epoch, mean, best, e.Judged().AP, e.Improved)
		}
		best = max(best, mean)
	}
	chosen := result.History[result.BestEpoch-1].Others
	if result.Others[protocol.TimeNegatives] == nil || !maps.Equal(result.Others, chosen) {
		t.Error("the result does not have the validation of its best epoch with time negatives")
	}
	job := remembering(t, "", protocol.Arrival, nil)
	job.Spec.Training.SelectBy = string(protocol.TimeNegatives)
	if _, err := job.Train(t.Context()); !errors.Is(err, eval.ErrArrival) {
		t.Errorf("in the order of arrival: %v", err)
	}
}
