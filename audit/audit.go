// Package audit answers: can this number be trusted?
//
// It repeats the test of a run and checks from outside the model: are the events, the split and the negatives those of
// the record; does a second, simple implementation of the metrics agree; does a score change with the batch it is
// computed in, or with events at or after its own time; and which scores do rules without training reach?
package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// Verdicts.
const (
	Pass = "pass"
	Leak = "leak" // a score changes with its batch, or with what lies at or after its time
	// Fail: the record is not what a run of this configuration gives; or that cannot be told, as something is missing
	// or the test has too few events.
	Fail = "fail"
)

// StampFile lies beside the result that was looked at.
const StampFile = "audit.json"

// Check is one thing that was looked at.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Want  string `json:"want"`

	leak bool // what it tells is a leak, if it is not OK
}

// Report is what an audit found.
type Report struct {
	Verdict string  `json:"verdict"`
	Checks  []Check `json:"checks"`
}

// information is what a check wants that cannot go wrong.
const information = "for information"

func (r *Report) add(name string, ok bool, found, want string) {
	r.Checks = append(r.Checks, Check{Name: name, OK: ok, Found: found, Want: want})
}

func (r *Report) tell(name, found string) { r.add(name, true, found, information) }

func (r *Report) same(name, found, want string) { r.add(name, found == want, found, want) }

func (r *Report) leak(name string, ok bool, found, want string) {
	r.Checks = append(r.Checks, Check{name, ok, found, want, true})
}

// without notes that the model's checks could not be made but for the first few, and why.
func (r *Report) without(why string, made int) {
	for _, c := range modelChecks[made:] {
		r.add(c.name, false, "could not be made: "+why, c.want)
	}
}

// enough says whether a test has events enough to conclude anything from what it gives.
func (r *Report) enough(m run.Measured) {
	found := fmt.Sprintf("%d in the %s test", m.Positives, m.Scenario)
	enough := eval.EnoughPositives
	if m.Events > 0 {
		found = fmt.Sprintf("%d with the label, %d without", m.Positives, m.Events-m.Positives)
		enough = eval.EnoughLabels
	}
	if m.TooFew() {
		found = "too few test events to conclude: " + found
	}
	r.add("enough test events", !m.TooFew(), found,
		fmt.Sprintf("at least %d: with fewer, chance moves AP and AUC by many points", enough))
}

// judge says what all checks together mean: what is not as recorded weighs more than a leak.
func (r *Report) judge() {
	r.Verdict = Pass
	for _, c := range r.Checks {
		switch {
		case c.OK:
		case !c.leak:
			r.Verdict = Fail
			return
		default:
			r.Verdict = Leak
		}
	}
}

// Training is what audits of all seeds of a training found together. Checks have the name of their seed before their
// own; the worst verdict counts.
type Training struct {
	Report
	Runs []Judged `json:"runs"`
}

// Judged is the verdict on one of them.
type Judged struct {
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
}

// Add takes what was found of one more seed.
func (t *Training) Add(dir string, r *Report) {
	t.Runs = append(t.Runs, Judged{dir, r.Verdict})
	for _, c := range r.Checks {
		c.Name = filepath.Base(dir) + ": " + c.Name
		t.Checks = append(t.Checks, c)
	}
	t.judge()
}

// Options say what to look at. Dir and Set are needed.
type Options struct {
	Dir     string        // of one seed's run
	Set     *dataset.Set  // that it says it was trained on
	Device  device.Device // nil: the CPU
	Threads int           // that gather; 0: all

	OnBatch func(what string, done, total int) // told after every batch; may be nil
}

// ErrAnswers says that a run tells classes with names, or values.
var ErrAnswers = errors.New("only runs of links, labels without names and the task next can be audited")

// ErrTask says that a run has learned something that has no negatives to compare by.
var ErrTask = errors.New("only runs of link prediction can be compared batch by batch")

// Run looks at a run. Records that are missing or cannot be read as such are errors; what contradicts is a check.
func Run(ctx context.Context, o Options) (*Report, error) {
	record, err := run.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	result, err := record.Result()
	if err != nil {
		return nil, err
	}
	spec, err := record.Spec()
	if err != nil {
		return nil, err
	}
	if fit := record.Config.Fit; fit != nil {
		return nil, &run.Error{File: o.Dir, Err: fmt.Errorf("%w: it was fitted to all events, and its results are "+
			"those of %s: audit that run", predict.ErrTrainedOn, record.Path(fit.Chosen))}
	}
	if spec.Classes != nil || spec.Target != nil {
		return nil, fmt.Errorf("%s: %w: 'eval' measures the run again", o.Dir, ErrAnswers)
	}
	a := &auditor{Options: o, run: record, result: result, spec: spec}
	if err := a.look(ctx); err != nil {
		return nil, err
	}
	a.report.judge()
	return &a.report, nil
}

type auditor struct {
	Options
	run    run.Run
	result run.Result
	spec   model.Spec
	report Report
	tests  []test // one for each result
}

func (a *auditor) look(ctx context.Context) error {
	a.records()
	a.history()
	proto, err := eval.Open(a.Set, eval.Options{Task: a.spec.Task, Sampling: a.run.Config.Sampling,
		LinkSplit: a.spec.LinkSplit(), BatchSize: a.spec.Training.BatchSize, Limits: a.run.Config.Parts()})
	if err != nil {
		return err
	}
	if !a.sameData(proto) {
		a.report.without("the data set differs from the one used for training", 0)
		return nil
	}
	if a.spec.Task == protocol.Next {
		return a.next(ctx, proto)
	}
	if learnsLabels(a.spec, a.result) {
		return a.labels(ctx, proto)
	}
	if err := a.questions(proto); err != nil {
		return err
	}
	if err := a.ask(ctx); err != nil {
		return err
	}
	// those of the first one's scenario, which differ in their negatives
	alike := slices.DeleteFunc(slices.Clone(a.tests), func(t test) bool {
		return t.noted.Scenario != a.tests[0].noted.Scenario
	})
	if len(alike) > 0 {
		explain(&a.report, alike, a.Set, proto, a.spec.Training.BatchSize)
	}
	return nil
}

// Stamp is what lies beside a result: what was found, and of which files.
type Stamp struct {
	Report
	Device     string `json:"device"` // that the audit computed on
	Result     string `json:"result_sha256"`
	Checkpoint string `json:"checkpoint_sha256,omitempty"`
}

// WriteStamp keeps a report in the directory of a run.
func WriteStamp(dir, device string, r *Report) error {
	s := Stamp{Report: *r, Device: device}
	var err error
	if s.Result, err = atomicfile.Hash(filepath.Join(dir, run.ResultFile)); err != nil {
		return fmt.Errorf("stamp: %w", err)
	}
	s.Checkpoint, err = atomicfile.Hash(filepath.Join(dir, run.CheckpointFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("stamp: %w", err)
	}
	return atomicfile.WriteJSON(filepath.Join(dir, StampFile), s)
}
