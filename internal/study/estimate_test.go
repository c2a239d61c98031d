package study

import (
	"math"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/run"
)

// jobOn is a training on a small stream that is called like one of the paper's.
func jobOn(t *testing.T, data, model string, settings ...string) *Job {
	t.Helper()
	set, err := dataset.Periodic(dataset.PeriodicOptions{Sources: 4, Targets: 4, Events: 2000})
	if err != nil {
		t.Fatal(err)
	}
	set.Name = data
	j, err := newJob(&source{Name: data, Set: set}, model, settings, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func about(a, b float64) bool { return math.Abs(a-b) < 1e-9*(1+math.Abs(b)) }

// What was measured replaces what was guessed, and corrects guesses about others of the kind.
func TestEstimateLearns(t *testing.T) {
	e := newEstimator(false, 2, 1)
	whole, part, other := jobOn(t, "uci", "dygmamba"), jobOn(t, "uci", "dygmamba-c"), jobOn(t, "uci", "jodie")
	guess := e.epoch(whole)
	if !(guess > 0) || !about(e.epoch(part), guess) || !(e.epoch(other) < guess/10) {
		t.Fatalf("guesses are %v, %v and %v", guess, e.epoch(part), e.epoch(other))
	}
	cheap := e.epoch(other)
	e.timed(other, cheap)
	e.measured(whole, 3*guess)
	if !about(e.epoch(whole), 3*guess) || !about(e.epoch(part), 3*guess) || !about(e.epoch(other), cheap) {
		t.Errorf("after a measurement: %v, %v and %v", e.epoch(whole), e.epoch(part), e.epoch(other))
	}
}

// Steps that were alone on the machine are no measure of trainings that are not.
func TestEstimateOfCrowds(t *testing.T) {
	e := newEstimator(true, 2, 4)
	a, b := jobOn(t, "uci", "jodie"), jobOn(t, "uci", "tgn")
	e.timed(a, 1)
	e.timed(b, 2)
	if !about(e.epoch(b), 4) { // half of four at once
		t.Errorf("among others an epoch takes %v", e.epoch(b))
	}
	e.measured(a, 3)
	if !about(e.epoch(a), 3) || !about(e.epoch(b), 6) {
		t.Errorf("as seen: %v and %v", e.epoch(a), e.epoch(b))
	}
}

// Longer rows take longer, and what is done is not to come.
func TestEstimateOfTheRest(t *testing.T) {
	e := newEstimator(false, 2, 1)
	short, long := jobOn(t, "enron", "dygmamba"), jobOn(t, "enron", "dygmamba", "patch_size=1")
	if !(e.epoch(long) > 5*e.epoch(short)) {
		t.Errorf("%v and %v", e.epoch(short), e.epoch(long))
	}
	j := jobOn(t, "uci", "jodie")
	e.measured(j, 1)
	least, usual := e.remaining(j, nil)
	if least < 21*time.Second || least > 23*time.Second || usual < 55*time.Second || usual > 57*time.Second {
		t.Errorf("all of it takes %v to %v", least, usual)
	}
	history := make([]run.Epoch, 60)
	history[44].Improved = true // 15 epochs ago
	least, usual = e.remaining(j, history)
	if least < 5*time.Second || least > 7*time.Second || usual != least {
		t.Errorf("the rest takes %v to %v", least, usual)
	}
}
