package dygmamba

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/run"
)

func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return atomicfile.Write(to, func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	})
}

// differs says what a sweep that goes on must not change.
func differs(s, now *run.Sweep) error {
	for _, f := range []struct {
		name    string
		was, is any
	}{
		{"model", s.Model, now.Model}, {"data", s.Data, now.Data},
		{"sweep", run.AxesText(s.Axes), run.AxesText(now.Axes)},
		{"trials", s.Asked, now.Asked},
		{"full", s.Full, now.Full}, {"seeds", s.Seeds, now.Seeds}, {"measure", s.Measure, now.Measure},
		{"epochs of the rounds", s.Rungs, now.Rungs},
	} {
		if fmt.Sprint(f.was) != fmt.Sprint(f.is) {
			return fmt.Errorf("cannot resume with changed settings: %s was %v and is now %v", f.name, f.was, f.is)
		}
	}
	return nil
}

// note takes down how far a trial is.
func note(t *run.Trial, runs []run.Result) {
	t.Runs = nil
	for _, r := range runs {
		x := run.TrialRun{Seed: r.Seed, Epochs: r.Epochs, BestEpoch: r.BestEpoch, Finished: !r.Paused,
			Seconds: r.Seconds}
		for _, e := range r.History {
			score := e.Judged()
			if !e.Improved && len(x.Scores) > 0 {
				score = x.Scores[len(x.Scores)-1]
			}
			x.Scores = append(x.Scores, score)
			x.AP, x.AUC = score.AP, score.AUC
		}
		t.Runs = append(t.Runs, x)
	}
}

// reached says whether all seeds of a trial are at an epoch, or can go no further.
func reached(t *run.Trial, epoch, seeds int) bool {
	behind := func(r run.TrialRun) bool { return !r.Finished && r.Epochs < epoch }
	return t.Failed != "" || len(t.Runs) == seeds && !slices.ContainsFunc(t.Runs, behind)
}

// choose sorts trials by what they achieved until an epoch, equal ones by number, and ends the worse half; after the
// last round all but the best. Those that failed are out.
func choose(s *run.Sweep, trials []int, epoch int, half bool) ([]int, error) {
	left := slices.DeleteFunc(slices.Clone(trials), func(i int) bool { return s.Trials[i].Failed != "" })
	if len(left) == 0 {
		return nil, errors.New("all trials failed: " + s.Trials[trials[0]].Failed)
	}
	slices.SortStableFunc(left, func(a, b int) int {
		if s.Measure == run.SweepBits || s.Measure == run.SweepError {
			a, b = b, a
		}
		return cmp.Compare(s.Trials[b].Score(s.Measure, epoch), s.Trials[a].Score(s.Measure, epoch))
	})
	if !half {
		s.Trials[left[0]].Chosen = true
		return left[:1], nil
	}
	keep := (len(left) + 1) / 2
	for _, i := range left[keep:] {
		s.Trials[i].Ended = epoch
	}
	left = left[:keep]
	slices.Sort(left)
	return left, nil
}
