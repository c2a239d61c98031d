package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
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
	if stopped { // the rest of the budget is for the invocation that goes on
		r.state.Spent += time.Since(r.began).Seconds()
	} else {
		r.state.Spent = 0
	}
	return report, r.saveState()
}

func (r *runner) report(stopped bool) *Report {
	report := &Report{
		Format: "dygmamba report 1", Written: time.Now().UTC().Truncate(time.Second), Version: r.Version,
		Machine: r.machine(r.Jobs), Budget: r.Budget.Seconds(), Epochs: r.Epochs, Seeds: r.Seeds, Stopped: stopped,
		Missing: r.missing, Phases: slices.Clone(r.phases), Runs: []RunFact{},
	}
	for _, e := range r.exhibits {
		if r.Own == nil {
			report.Exhibits = append(report.Exhibits, r.show(e))
		}
	}
	for _, j := range r.order(slices.Clone(r.jobs)) {
		report.Runs = append(report.Runs, r.runFact(j))
	}
	states := []string{Done, Cut, Unfinished, Failed, NotBegun}
	slices.SortStableFunc(report.Runs, func(a, b RunFact) int {
		if a.State == Done && b.State == Done {
			return strings.Compare(a.Run, b.Run)
		}
		return cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State))
	})
	return report
}

func (r *runner) runFact(j *Job) RunFact {
	s := j.found
	f := RunFact{
		Run: j.id(), State: s.state, Seed: j.Seed, Dir: r.relative(s.Path),
		Conditions: conditions(j.spec), Settings: j.spec.Brief(), Epochs: len(s.epochs), Version: "not recorded",
	}
	if s.Config.Hashes.Data != "" {
		f.Hashes, _ = json.Marshal(s.Config.Hashes)
	}
	least, usual := r.estimate.remaining(j)
	f.Expects = round(usual)
	about := fmt.Sprintf("typically %s more, minimum %s", minutes(usual), minutes(least))
	switch s.state {
	case Done, Cut:
		f.Epochs, f.Seconds, f.Device, f.Expects = s.Result.Epochs, s.Result.Seconds, s.Result.Device, 0
		f.Words = fmt.Sprintf("best epoch %d of %d, chosen by validation", s.Result.BestEpoch, s.Result.Epochs)
	case Unfinished:
		f.Words = fmt.Sprintf("interrupted after epoch %d of at most %d; %s", f.Epochs, j.spec.Training.Epochs, about)
	case Failed:
		f.Words = "failed: " + s.why
	default:
		f.Words = "not begun; " + about
	}
	if rec, ok := r.state.Runs[j.id()]; ok && !s.earlier {
		f.Version, f.Machine = cmp.Or(rec.Version, f.Version), &rec.Machine
	}
	return f
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
		words = append(words, "order "+string(spec.Order))
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
func (r *runner) relative(path string) string {
	out, err1 := filepath.Abs(r.Out)
	whole, err2 := filepath.Abs(path)
	link, err := filepath.Rel(out, whole)
	switch {
	case path == "" || cmp.Or(err1, err2, err) != nil:
		return ""
	case filepath.Ext(link) == recordEnding:
		return filepath.ToSlash(link)
	}
	return filepath.ToSlash(link) + "/"
}

// write writes the report's files, each as a whole.
func (r *runner) write(report *Report) error {
	if r.Own != nil {
		return r.writeOwn(report)
	}
	err := atomicfile.WriteJSON(filepath.Join(r.Out, ReportFile), report)
	doc := report.document()
	for _, name := range []string{PageFile, MarkdownFile} {
		err = cmp.Or(err, atomicfile.Write(filepath.Join(r.Out, name), func(w io.Writer) error {
			return doc.Write(w, filepath.Ext(name))
		}))
	}
	return err
}

// Counted is how many runs are in a state.
func (r *Report) Counted(state string) int {
	n := 0
	for _, x := range r.Runs {
		if x.State == state {
			n++
		}
	}
	return n
}

// document is the report for readers.
func (r *Report) document() Document {
	d := Document{Title: "The paper's tables and figures beside our own", Lead: r.lead(), Notes: []string{conventions},
		Foot: fmt.Sprintf("dygmamba %s, %s", r.Version, r.Written.Format(time.RFC3339))}
	var empty []string
	for _, s := range r.Exhibits {
		if len(s.Tables)+len(s.Figures) == 0 {
			empty = append(empty, fmt.Sprintf("%s (%s)", s.Title, s.Number))
			continue
		}
		d.Parts = append(d.Parts, s)
	}
	runs := Shown{Exhibit: Exhibit{ID: "runs", Title: "Runs"}, Notes: []string{"What was not begun could not be over " +
		"within the budget, as far as can be told, or nobody came to it; the same command goes on."}}
	t := Table{Columns: []string{"run", "state", "", "settings", "conditions", "time", "device", "version"}}
	for _, x := range r.Runs {
		cells := row(x.Run, x.State, x.Words, x.Settings, x.Conditions, "", x.Device, x.Version)
		if cells[0].Link = x.Dir; x.Seconds > 0 {
			cells[5].Text = minutes(seconds(x.Seconds))
		}
		if cells[6].Conditions = string(x.Hashes); x.Machine != nil {
			cells[6].Text += fmt.Sprintf(", %s, %d CPUs, %d threads, %s", x.Machine.Platform, x.Machine.CPUs,
				x.Machine.Threads, atOnce(x.Machine.Jobs))
		}
		t.Rows = append(t.Rows, cells)
	}
	runs.Tables = []Table{t}
	if empty != nil {
		runs.Notes = append(runs.Notes, "Nothing to show yet: "+strings.Join(empty, ", ")+".")
	}
	if len(r.Missing) > 0 {
		missing := Table{Columns: []string{"data set that is not here", "to get it"}}
		for _, m := range r.Missing {
			missing.Rows = append(missing.Rows, row(m.Data, "`"+m.Command+"`"))
		}
		runs.Tables = append(runs.Tables, missing)
	}
	phases := Table{Columns: []string{"phase", "seconds"}}
	for _, p := range r.Phases {
		phases.Rows = append(phases.Rows, row(p.Name, fmt.Sprintf("%.1f", p.Seconds)))
	}
	runs.Tables = append(runs.Tables, phases)
	d.Parts = append(d.Parts, runs)
	return d
}

// conventions say how to read the tables.
const conventions = "Ours are means over seeds, with the sample standard deviation and the number of seeds where " +
	"there are several. “Off by” is the distance from the paper's mean in the paper's standard deviations (std), " +
	"or in points where it gives none. The best of a column is bold, the second underlined. Letters mark the " +
	"conditions of a number; those whose scores depend on more than what happened before their own time take no part " +
	"in that."

func (r *Report) lead() string {
	text := fmt.Sprintf("%s, %d CPUs, %s, %s.", r.Machine.Device, r.Machine.CPUs, atOnce(r.Machine.Jobs),
		plural(r.Seeds, "one seed", "%d seeds"))
	if r.Budget > 0 {
		text += fmt.Sprintf(" The budget was %s.", minutes(seconds(r.Budget)))
	}
	if r.Epochs > 0 {
		text += fmt.Sprintf(" Trainings were cut to %d epochs, so that no number is that of a whole one.", r.Epochs)
	}
	if r.Stopped {
		text += " It was interrupted; the same command goes on."
	}
	return text
}

func atOnce(jobs int) string {
	return plural(jobs, "one training at a time", "up to %d trainings at once")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(more, n)
}
