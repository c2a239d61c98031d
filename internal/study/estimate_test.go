package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/paper"
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
	j, err := newJob(&source{Name: data, Set: set}, model, preset, settings, "", 0)
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
	e.at(other).alone = cheap
	e.at(whole).actual = 3 * guess
	if !about(e.epoch(whole), 3*guess) || !about(e.epoch(part), 3*guess) || !about(e.epoch(other), cheap) {
		t.Errorf("after a measurement: %v, %v and %v", e.epoch(whole), e.epoch(part), e.epoch(other))
	}
}

// Steps that were alone on the machine are no measure of trainings that are not.
func TestEstimateOfCrowds(t *testing.T) {
	e := newEstimator(true, 2, 4)
	a, b := jobOn(t, "uci", "jodie"), jobOn(t, "uci", "tgn")
	e.at(a).alone = 1
	e.at(b).alone = 2
	if !about(e.epoch(b), 4) { // half of four at once
		t.Errorf("among others an epoch takes %v", e.epoch(b))
	}
	e.at(a).actual = 3
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
	e.at(j).actual = 1
	least, usual := e.remaining(j)
	if least < 21*time.Second || least > 23*time.Second || usual < 55*time.Second || usual > 57*time.Second {
		t.Errorf("all of it takes %v to %v", least, usual)
	}
	j.found.epochs = make([]run.Epoch, 60)
	j.found.epochs[44].Improved = true // 15 epochs ago
	least, usual = e.remaining(j)
	if least < 5*time.Second || least > 7*time.Second || usual != least {
		t.Errorf("the rest takes %v to %v", least, usual)
	}
}

// Models weigh as much as the paper's tables tell: its own most, then the strongest of the others by published average
// rank, the others, and parts of its own.
func TestWeights(t *testing.T) {
	exhibits, _ := paper.Find("transductive-ap")
	total := map[string]int{}
	for _, d := range exhibits[0].Datasets {
		for _, m := range exhibits[0].Models {
			r, _ := paper.Lookup("transductive", "random", d, m)
			for _, o := range exhibits[0].Models {
				if x, _ := paper.Lookup("transductive", "random", d, o); x.AP.Mean > r.AP.Mean {
					total[m]++
				}
			}
		}
	}
	ranked := slices.Clone(exhibits[0].Models)
	slices.SortStableFunc(ranked, func(a, b string) int { return cmp.Compare(total[a], total[b]) })
	if order := fmt.Sprint(ranked[:3]); order != "[dygmamba dygformer tgn]" {
		t.Errorf("strongest are %s", order)
	}
	for i, m := range append(slices.Clone(ranked), "dygmamba-a", "dygformer-mamba") {
		want := []float64{1000, 100}[min(i, 1)]
		if i > 1 && i < len(ranked) {
			want = 10
		} else if i > 1 {
			want = 3
		}
		if c := costOf(m); m != "edgebank" && c.weight != want {
			t.Errorf("%s weighs %v, want %v", m, c.weight, want)
		}
	}
}
