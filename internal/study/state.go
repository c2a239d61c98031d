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
	Jobs     int    `json:"jobs"`    // at most so many at once
}

func (r *runner) machine() Machine {
	return Machine{r.device, runtime.GOOS + "/" + runtime.GOARCH, runtime.NumCPU(), max(1, r.Threads/r.Jobs), r.Jobs}
}

// origin is what the plan file has of a run beside what the run's own directory has.
type origin struct {
	State   string    `json:"state"`
	Epochs  int       `json:"epochs"`
	Why     string    `json:"why,omitempty"` // it failed
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"`
	Machine Machine   `json:"machine"`
	Version string    `json:"version"`
}

// stateFile is the content of PlanFile.
type stateFile struct {
	Format string `json:"format"`
	// Spent is what interrupted invocations used of the same budget.
	Spent  float64           `json:"spent_s"`
	Budget float64           `json:"budget_s,omitempty"`
	Names  []string          `json:"exhibits"`
	Runs   map[string]origin `json:"runs"` // by Job.id

	path string
}

// openState takes up what an earlier invocation left.
func (r *runner) openState() error {
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	r.state = stateFile{path: filepath.Join(r.Out, PlanFile)}
	raw, err := os.ReadFile(r.state.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(raw, &r.state); err != nil || r.state.Format != stateFormat {
			return fmt.Errorf("%s is not the plan of a reproduction (%v): choose another directory", r.state.path, err)
		}
	}
	if r.state.Budget != r.Budget.Seconds() { // another one begins
		r.state.Spent = 0
	}
	r.state.Format, r.state.Names, r.state.Budget = stateFormat, r.Names, r.Budget.Seconds()
	if r.state.Runs == nil {
		r.state.Runs = map[string]origin{}
	}
	return r.state.save()
}

func (s *stateFile) spent() time.Duration { return seconds(s.Spent) }

func (s *stateFile) save() error {
	return atomicfile.WriteJSON(s.path, s)
}

// begin notes that a run begins or goes on. Not being able to write that down is no reason not to.
func (s *stateFile) begin(j *Job, m Machine, version string) {
	was := s.Runs[j.id()]
	if was.Began.IsZero() {
		was.Began = time.Now().UTC().Truncate(time.Second)
	}
	was.State, was.Machine, was.Version, was.Why = Unfinished, m, version, ""
	s.Runs[j.id()] = was
	s.save()
}

func (s *stateFile) end(j *Job, found standing) error {
	was := s.Runs[j.id()]
	was.State, was.Why, was.Epochs = found.state, found.why, len(found.epochs)
	was.Ended = time.Now().UTC().Truncate(time.Second)
	s.Runs[j.id()] = was
	return s.save()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
