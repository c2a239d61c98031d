package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// PlanFile keeps the state of a reproduction in its directory.
const PlanFile = "plan.json"

const stateFormat = "dygmamba reproduction 1"

// Machine is where something was computed.
type Machine struct {
	Device   string `json:"device"`
	Platform string `json:"platform"`
	CPUs     int    `json:"cpus"`
	Threads  int    `json:"threads"` // of each training
	Jobs     int    `json:"jobs"`    // at most this many at once
}

func (r *runner) machine(jobs int) Machine {
	return Machine{r.device, runtime.GOOS + "/" + runtime.GOARCH, runtime.NumCPU(), max(1, r.Threads/jobs), jobs}
}

// origin is what the plan file has of a run beside what the run's own directory has.
type origin struct {
	State   string    `json:"state"`
	Epochs  int       `json:"epochs"`
	Why     string    `json:"why,omitempty"`    // it failed
	Used    float64   `json:"used_s,omitempty"` // of its share of the time
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"`
	Machine Machine   `json:"machine"`
	Version string    `json:"version"`
}

// stateFile is the content of PlanFile.
type stateFile struct {
	Format string `json:"format"`
	// Spent is what interrupted invocations used of the same budget.
	Spent  float64 `json:"spent_s"`
	Budget float64 `json:"budget_s,omitempty"`
	// Share is the time that every training has, in a study that gives all the same.
	Share float64           `json:"share_s,omitempty"`
	Names []string          `json:"exhibits"`
	Runs  map[string]origin `json:"runs"` // by Job.id
}

// openState takes up what an earlier invocation left.
func (r *runner) openState() error {
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	path := r.statePath()
	raw, err := os.ReadFile(path)
	if err == nil {
		if err := json.Unmarshal(raw, &r.state); err != nil || r.state.Format != stateFormat {
			return fmt.Errorf("%s is not the plan of a reproduction (%v): choose another directory", path, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.state.Budget != r.Budget.Seconds() { // another one begins
		r.state.Spent, r.state.Share = 0, 0
	}
	r.state.Format, r.state.Names, r.state.Budget = stateFormat, r.Names, r.Budget.Seconds()
	if r.state.Runs == nil {
		r.state.Runs = map[string]origin{}
	}
	return r.saveState()
}

func (r *runner) saveState() error {
	return atomicfile.WriteJSON(r.statePath(), r.state)
}

// statePath is where the plan is kept: each of several processes that share the trainings has its own.
func (r *runner) statePath() string {
	if r.Shards > 0 {
		return filepath.Join(r.Out, fmt.Sprintf("plan-%d-of-%d.json", r.Shard, r.Shards))
	}
	return filepath.Join(r.Out, PlanFile)
}

// noteState writes down how a run stands, as one that begins or goes on or as one that ends.
func (r *runner) noteState(j *Job, begins bool) error {
	o, now := r.state.Runs[j.id()], time.Now().UTC().Truncate(time.Second)
	o.State, o.Why, o.Epochs, o.Ended = j.found.state, j.found.why, len(j.found.epochs), now
	if begins {
		o.State, o.Ended, o.Machine, o.Version = Unfinished, time.Time{}, r.machine(r.Jobs), r.Version
		if o.Began.IsZero() {
			o.Began = now
		}
	}
	r.state.Runs[j.id()] = o
	return r.saveState()
}
