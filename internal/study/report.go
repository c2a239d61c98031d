package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/model"
)

// The files of a report, in the directory of its reproduction.
const (
	PageFile     = "report.html"
	MarkdownFile = "report.md"
	ReportFile   = "report.json"
)

// Report is what a reproduction has shown so far.
type Report struct {
	Format   string    `json:"format"`
	Written  time.Time `json:"written"`
	Version  string    `json:"version"`
	Machine  Machine   `json:"machine"`
	Budget   float64   `json:"budget_s,omitempty"`
	Epochs   int       `json:"epochs,omitempty"` // where trainings are shorter than published
	Seeds    int       `json:"seeds"`
	Stopped  bool      `json:"interrupted,omitempty"`
	Exhibits []Shown   `json:"exhibits"`
	Runs     []RunFact `json:"runs"`
	Missing  []Missing `json:"missing"`
	Phases   []Phase   `json:"phases"`
}

// Figure is one of a report.
type Figure struct {
	Title  string   `json:"title"`
	Note   string   `json:"note,omitempty"`
	X      string   `json:"x"`
	Y      string   `json:"y"`
	LogX   bool     `json:"log_x,omitempty"`
	LogY   bool     `json:"log_y,omitempty"`
	Series []Series `json:"series"`
}

// Series is a line of a figure, or, where R is there, points of that weight.
type Series struct {
	Name  string    `json:"name"`
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`
	R     []float64 `json:"r,omitempty"`
	Cross []bool    `json:"cross,omitempty"` // points that took longer than they were allowed
}

// RunFact is a run and how it came about.
type RunFact struct {
	Run        string          `json:"run"`
	Dir        string          `json:"dir,omitempty"` // from the report's directory
	State      string          `json:"state"`
	Words      string          `json:"words"`
	Seed       uint64          `json:"seed"`
	Settings   string          `json:"settings"`
	Epochs     int             `json:"epochs,omitempty"`
	Seconds    float64         `json:"seconds,omitempty"`
	Expects    float64         `json:"expects_s,omitempty"` // of one that is not done
	Conditions string          `json:"conditions"`
	Device     string          `json:"device,omitempty"`
	Machine    *Machine        `json:"machine,omitempty"` // nil for runs that were made before
	Version    string          `json:"version"`
	Hashes     json.RawMessage `json:"hashes,omitempty"`
}

// finish writes the report.
func (r *runner) finish(stopped bool) (*Report, error) {
	var report *Report
	err := r.phase("report", func() error {
		report = r.report(stopped)
		return r.write(report)
	})
	if err != nil {
		return nil, err
	}
	r.state.Spent = 0
	if stopped { // the rest of the budget is for the invocation that goes on
		r.state.Spent = r.state.spent().Seconds() + time.Since(r.began).Seconds()
	}
	return report, r.state.save()
}

func (r *runner) report(stopped bool) *Report {
	report := &Report{
		Format: "dygmamba report 1", Written: time.Now().UTC().Truncate(time.Second), Version: r.Version,
		Machine: r.machine(), Budget: r.Budget.Seconds(), Epochs: r.Epochs, Seeds: r.Seeds, Stopped: stopped,
		Missing: r.missing(), Phases: slices.Clone(r.phases), Runs: []RunFact{},
	}
	for _, e := range r.exhibits {
		report.Exhibits = append(report.Exhibits, r.show(e))
	}
	jobs := slices.Clone(r.jobs)
	r.order(jobs)
	place := map[string]int{Done: 0, Unfinished: 1, Failed: 2, NotBegun: 3}
	slices.SortStableFunc(jobs, func(a, b *Job) int {
		x, y := r.found[a.id()].state, r.found[b.id()].state
		if x == Done && y == Done {
			return strings.Compare(a.id(), b.id())
		}
		return cmp.Compare(place[x], place[y])
	})
	for _, j := range jobs {
		report.Runs = append(report.Runs, r.runFact(j))
	}
	return report
}

func (r *runner) runFact(j *Job) RunFact {
	s := r.found[j.id()]
	f := RunFact{
		Run: j.id(), State: s.state, Seed: j.Seed, Dir: r.relative(s.Path), Words: r.words(j),
		Conditions: conditions(j.spec), Settings: j.spec.Brief(), Epochs: len(s.epochs), Version: "not recorded",
	}
	if s.Config.Hashes.Data != "" {
		f.Hashes, _ = json.Marshal(s.Config.Hashes)
	}
	if s.state == Done {
		f.Epochs, f.Seconds, f.Device = s.Result.Epochs, s.Result.Seconds, s.Result.Device
	} else {
		_, usual := r.estimate.remaining(j, s.epochs)
		f.Expects = round(usual)
	}
	if rec, ok := r.state.Runs[j.id()]; ok && !s.earlier {
		f.Version, f.Machine = cmp.Or(rec.Version, f.Version), &rec.Machine
	}
	return f
}

// words tell where a run stands.
func (r *runner) words(j *Job) string {
	s := r.found[j.id()]
	least, usual := r.estimate.remaining(j, s.epochs)
	about := fmt.Sprintf("about %s more, %s at the least", minutes(usual), minutes(least))
	switch s.state {
	case Done:
		return fmt.Sprintf("best epoch %d of %d, chosen by validation", s.Result.BestEpoch, s.Result.Epochs)
	case Unfinished:
		return fmt.Sprintf("interrupted after epoch %d of at most %d; %s", len(s.epochs), j.spec.Training.Epochs, about)
	case Failed:
		return "failed: " + s.why
	}
	return "not begun; " + about
}

// minutes is a time to plan with.
func minutes(d time.Duration) string {
	switch {
	case d > 10000*time.Hour:
		return "?"
	case d < 90*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 90*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// conditions are those under which the scores of a configuration come about.
func conditions(spec model.Spec) string {
	var words []string
	if spec.Order != "" {
		words = append(words, "order "+spec.Order)
	}
	for _, s := range model.Settings(spec.Config) {
		if s.Key == "padding" {
			words = append(words, fmt.Sprintf("padding %v", s.Value))
		}
	}
	words = append(words, fmt.Sprintf("measured in batches of %d", spec.Training.BatchSize),
		"epoch chosen by validation")
	return strings.Join(append(words, spec.Conditions()...), "; ")
}

// relative is a path as the report links to it.
func (r *runner) relative(dir string) string {
	if dir == "" {
		return ""
	}
	out, err1 := filepath.Abs(r.Out)
	whole, err2 := filepath.Abs(dir)
	if path, err := filepath.Rel(out, whole); err1 == nil && err2 == nil && err == nil {
		if filepath.Ext(path) == recordEnding {
			return filepath.ToSlash(path)
		}
		return filepath.ToSlash(path) + "/"
	}
	return ""
}

// write writes the report's files, each as a atomicfile.
func (r *runner) write(report *Report) error {
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	if err := atomicfile.WriteJSON(filepath.Join(r.Out, ReportFile), report); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		PageFile: report.WritePage, MarkdownFile: report.WriteMarkdown,
	} {
		if err := atomicfile.Write(filepath.Join(r.Out, name), write); err != nil {
			return err
		}
	}
	return nil
}

// counted is how many runs are in a state.
func (r *Report) counted(state string) int {
	n := 0
	for _, x := range r.Runs {
		if x.State == state {
			n++
		}
	}
	return n
}
