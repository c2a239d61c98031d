package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// SweepFile is where a sweep keeps its record, beside the directories of its trials.
const SweepFile = "sweep.json"

const SweepFormat = "dygmamba sweep 1"

// SweepError is the measure of sweeps of regression, of which less is better.
const SweepError = "rmse"

// SweepBits is the measure of sweeps of the task "next", of which fewer are better.
const SweepBits = "who_bits"

// Sweep is a search for good settings, as SweepFile keeps it.
type Sweep struct {
	Format  string   `json:"format"`
	Model   string   `json:"model"`
	Data    string   `json:"data"`
	Axes    []Axis   `json:"axes"`
	Asked   int      `json:"trials_asked,omitempty"` // this many drawn at random; 0: all combinations
	Full    bool     `json:"full,omitempty"`         // no trial ends early
	Seeds   []uint64 `json:"seeds"`
	Measure string   `json:"measure"` // what decides: ap, auc or who_bits of the validation, the mean over seeds
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

	Scores []Score `json:"scores"` // of the best epoch so far, after every epoch
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
		return nil, &Error{file, err}
	}
	if s.Format != SweepFormat || len(s.Trials) == 0 || len(s.Rungs) == 0 || len(s.Seeds) == 0 {
		return nil, &Error{file, fmt.Errorf("found the format %q, want the record of a sweep, %q", s.Format,
			SweepFormat)}
	}
	return &s, nil
}

func (s *Sweep) Save(dir string) error {
	return atomicfile.WriteJSON(filepath.Join(dir, SweepFile), s)
}

func AxesText(axes []Axis) string {
	var list []string
	for _, a := range axes {
		list = append(list, a.String())
	}
	return strings.Join(list, " ")
}

// Score is what a trial is judged by after an epoch: the mean over its seeds of the best epoch until then.
func (t *Trial) Score(measure string, epoch int) float64 {
	sum := 0.0
	for _, r := range t.Runs {
		if n := min(epoch, len(r.Scores)); n > 0 {
			switch score := r.Scores[n-1]; measure {
			case "auc":
				sum += score.AUC
			case SweepError:
				sum += score.RMSE
			case SweepBits:
				sum += score.Bits
			default:
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
