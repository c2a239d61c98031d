package dygmamba

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/train"
)

// SweepFile is where a sweep keeps its record, beside the directories of its trials.
const SweepFile = "sweep.json"

const sweepFormat = "dygmamba sweep 1"

// Sweep is a search for good settings, as SweepFile keeps it.
type Sweep struct {
	Format  string   `json:"format"`
	Model   string   `json:"model"`
	Data    string   `json:"data"`
	Axes    []Axis   `json:"axes"`
	Asked   int      `json:"trials_asked,omitempty"` // so many drawn at random; 0: all combinations
	Full    bool     `json:"full,omitempty"`         // no trial ends early
	Seeds   []uint64 `json:"seeds"`
	Measure string   `json:"measure"` // what decides: ap or auc of the validation, the mean over seeds
	Rungs   []int    `json:"rungs"`   // epochs at which the worse half ends; the last is the end
	Trials  []Trial  `json:"trials"`
	Best    string   `json:"best,omitempty"` // the chosen trial, once it was measured on the test
}

// Trial is one combination of settings.
type Trial struct {
	Name     string     `json:"name"` // of its directory
	Settings []string   `json:"settings"`
	Runs     []TrialRun `json:"runs,omitempty"` // of each seed
	Ended    int        `json:"ended_at,omitempty"`
	Failed   string     `json:"failed,omitempty"` // why it could not go on
	Chosen   bool       `json:"chosen,omitempty"`
}

// TrialRun is how far a trial is with one seed.
type TrialRun struct {
	Seed      uint64  `json:"seed"`
	Epochs    int     `json:"epochs"`
	BestEpoch int     `json:"best_epoch"`
	AP        float64 `json:"val_ap"` // of the best epoch; of training where there is no validation
	AUC       float64 `json:"val_auc"`
	Finished  bool    `json:"finished"` // it has no epochs to come
	Seconds   float64 `json:"seconds"`

	Scores []train.Score `json:"scores"` // of the best epoch so far, after every epoch
}

// OpenSweep reads the record of the sweep in a directory. There may be none: fs.ErrNotExist.
func OpenSweep(dir string) (*Sweep, error) {
	file := filepath.Join(dir, SweepFile)
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var s Sweep
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, &RunError{file, err}
	}
	if s.Format != sweepFormat || len(s.Trials) == 0 || len(s.Rungs) == 0 || len(s.Seeds) == 0 {
		return nil, &RunError{file, fmt.Errorf("found the format %q, want the record of a sweep, %q", s.Format,
			sweepFormat)}
	}
	return &s, nil
}

func (s *Sweep) save(dir string) error {
	return atomicfile.WriteJSON(filepath.Join(dir, SweepFile), s)
}

// copyFile replaces a file by another's content.
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
func (s *Sweep) differs(now *Sweep) error {
	for _, f := range []struct {
		name    string
		was, is any
	}{
		{"model", s.Model, now.Model}, {"data", s.Data, now.Data}, {"sweep", axesText(s.Axes), axesText(now.Axes)},
		{"trials", s.Asked, now.Asked},
		{"full", s.Full, now.Full}, {"seeds", s.Seeds, now.Seeds}, {"measure", s.Measure, now.Measure},
		{"epochs of the rounds", s.Rungs, now.Rungs},
	} {
		if fmt.Sprint(f.was) != fmt.Sprint(f.is) {
			return fmt.Errorf("%s was %v and is now %v; a sweep goes on only as it began", f.name, f.was, f.is)
		}
	}
	return nil
}

func axesText(axes []Axis) string {
	var list []string
	for _, a := range axes {
		list = append(list, a.String())
	}
	return strings.Join(list, " ")
}

// note takes down how far a trial is.
func (t *Trial) note(runs []train.Result) {
	t.Runs = nil
	for _, r := range runs {
		x := TrialRun{Seed: r.Seed, Epochs: r.Epochs, BestEpoch: r.BestEpoch, Finished: !r.Paused, Seconds: r.Seconds}
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
func (t *Trial) reached(epoch, seeds int) bool {
	behind := func(r TrialRun) bool { return !r.Finished && r.Epochs < epoch }
	return t.Failed != "" || len(t.Runs) == seeds && !slices.ContainsFunc(t.Runs, behind)
}

// Score is what a trial is judged by after an epoch: the mean over its seeds of the best epoch until then.
func (t *Trial) Score(measure string, epoch int) float64 {
	sum := 0.0
	for _, r := range t.Runs {
		if n := min(epoch, len(r.Scores)); n > 0 {
			if score := r.Scores[n-1]; measure == "auc" {
				sum += score.AUC
			} else {
				sum += score.AP
			}
		}
	}
	return sum / float64(max(1, len(t.Runs)))
}

// Epochs is the most that any of its seeds has trained.
func (t *Trial) Epochs() int {
	n := 0
	for _, r := range t.Runs {
		n = max(n, r.Epochs)
	}
	return n
}

// Seconds is what a trial has taken.
func (t *Trial) Seconds() float64 {
	sum := 0.0
	for _, r := range t.Runs {
		sum += r.Seconds
	}
	return sum
}

// standing are the trials that have not ended, by number.
func (s *Sweep) standing() []int {
	var list []int
	for i := range s.Trials {
		s.Trials[i].Ended = 0 // decided anew, from the same scores
		list = append(list, i)
	}
	return list
}

// choose sorts trials by what they achieved until an epoch, equal ones by number, and ends the worse half; after the
// last round all but the best. Those that failed are out.
func (s *Sweep) choose(trials []int, epoch int, half bool) ([]int, error) {
	left := slices.DeleteFunc(slices.Clone(trials), func(i int) bool { return s.Trials[i].Failed != "" })
	if len(left) == 0 {
		return nil, errors.New("all trials failed: " + s.Trials[trials[0]].Failed)
	}
	slices.SortStableFunc(left, func(a, b int) int {
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
