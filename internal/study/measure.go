package study

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/audit"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/bench"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
)

// on is a model on a data set: the data set first.
type on [2]string

// measures are what was found without training anything, each kept in a file of its own.
type measures struct {
	data    map[string]*DataFacts // by data set
	rules   map[on]*RuleFacts
	steps   map[on]*Facts[bench.StepReport]
	lengths map[on]*Facts[bench.NeighborsReport]
	skipped map[on]time.Duration // steps that were not measured in the last round for want of this time
}

// RuleFacts is what a model without anything to learn achieved: of its forms the best, as is published.
type RuleFacts struct {
	Hash       string         `json:"data_hash"`
	Model      string         `json:"model"`
	Order      protocol.Order `json:"order,omitempty"`
	Conditions []string       `json:"conditions,omitempty"`
	BatchSize  int            `json:"batch_size"`
	Rows       []eval.Row     `json:"rows,omitempty"`
	// Rules are those of audits, instead of the forms of a model.
	Rules []audit.RuleResult `json:"rules,omitempty"`
}

// best is the best form in a setting under one kind of negatives.
func (f *RuleFacts) best(scenario protocol.Scenario, negatives protocol.Negatives) (b eval.Row, ok bool) {
	for _, row := range f.Rows {
		if row.Scenario == scenario && row.Strategy == negatives && row.Batches > 0 && (!ok || row.AP > b.AP) {
			b, ok = row, true
		}
	}
	return b, ok
}

// Facts is what a few training steps took, or steps with rows of different lengths.
type Facts[R any] struct {
	Hash    string          `json:"data_hash"`
	Spec    json.RawMessage `json:"spec,omitempty"` // of steps
	Planned bool            `json:"planned"`        // of lengths: found without computing
	Machine Machine         `json:"machine"`
	Version string          `json:"version"`
	Report  R               `json:"report"`
}

// kept is a measurement that was made before, where it is one of what is asked for now.
func kept[T any](r *runner, file string, good func(*T) bool) *T {
	v := new(T)
	raw, err := os.ReadFile(r.measurePath(file))
	if err != nil || json.Unmarshal(raw, v) != nil || !good(v) {
		return nil
	}
	return v
}

func (r *runner) measurePath(file string) string {
	return filepath.Join(r.Out, "measures", file+".json")
}

// keep writes a measurement down.
func (r *runner) keep(file string, v any) error {
	if err := os.MkdirAll(filepath.Join(r.Out, "measures"), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteJSON(r.measurePath(file), v)
}

// once notes a measurement, unless that was done: that of an earlier invocation, or one that is made now and kept.
func once[K comparable, T any](
	r *runner, notes map[K]*T, key K, file string, good func(*T) bool, find func() (*T, error),
) (err error) {
	if notes[key] != nil {
		return nil
	}
	if notes[key] = kept(r, file, good); notes[key] != nil {
		return nil
	}
	if notes[key], err = find(); err != nil {
		return err
	}
	return r.keep(file, notes[key])
}

// lookAtData finds the statistics of data sets, and what rules achieve on them.
func (r *runner) lookAtData(ctx context.Context) error {
	r.measures = measures{data: map[string]*DataFacts{}, rules: map[on]*RuleFacts{},
		steps: map[on]*Facts[bench.StepReport]{}, lengths: map[on]*Facts[bench.NeighborsReport]{}}
	for e, set := range r.shown() {
		switch e.Kind {
		case paper.Events, paper.Pairs, paper.Histories, paper.Intervals:
			same := func(f *DataFacts) bool { return f.Hash == set.hash }
			err := once(r, r.measures.data, set.Name, set.Name+"-data", same, func() (*DataFacts, error) {
				return describe(ctx, set, r.Threads)
			})
			if err != nil {
				return err
			}
		case paper.Links:
			if r.Own != nil {
				if err := r.measureRules(ctx, set); err != nil {
					return err
				}
				continue
			}
			for _, m := range r.asked(e) {
				if models.Get(m).Trains {
					continue
				}
				same := func(f *RuleFacts) bool { return f.Hash == set.hash && f.Model == m }
				err := once(r, r.measures.rules, on{set.Name, m}, set.Name+"-"+m, same, func() (*RuleFacts, error) {
					return applyRule(ctx, set, m, r.Threads, "", protocol.Transductive)
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// applyRule measures a model that learns nothing; without an order in its own, without scenarios in all.
func applyRule(
	ctx context.Context, set *source, name string, threads int, order protocol.Order, scenarios ...protocol.Scenario,
) (*RuleFacts, error) {
	contenders, spec, err := models.Contenders(name)
	if err != nil {
		return nil, err
	}
	spec.Order = cmp.Or(order, spec.Order)
	o := eval.Options{BatchSize: spec.Training.BatchSize, Order: spec.Order, Threads: threads}
	session, err := eval.OpenSession(ctx, set.Set, o, contenders...)
	if err != nil {
		return nil, err
	}
	f := &RuleFacts{Hash: set.hash, Model: name, Order: spec.Order, Conditions: spec.Conditions(),
		BatchSize: spec.Training.BatchSize}
	f.Rows, err = session.Test(ctx, eval.Tests{Scenarios: scenarios})
	return f, err
}

// stepTask is a measurement to come, and how long it may take.
type stepTask struct {
	Task
	job  *Job
	need time.Duration
	file string
}

// on is what is measured.
func (t stepTask) on() on { return on{t.job.Data, t.job.Model} }

// measureSteps measures training steps, alone on the machine, as far as that can be done within some time; 0: all.
func (r *runner) measureSteps(ctx context.Context, room time.Duration) error {
	r.measures.skipped = map[on]time.Duration{}
	tasks, err := r.stepTasks()
	if err != nil {
		return err
	}
	slices.SortStableFunc(tasks, func(a, b stepTask) int { return cmp.Compare(a.need, b.need) })
	within := ctx
	if room > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, room)
		defer cancel()
		for i, t := range tasks { // the cheapest first
			if room -= t.need; room < 0 {
				for _, t := range tasks[i:] {
					r.measures.skipped[t.on()] = t.need
				}
				tasks = tasks[:i]
				break
			}
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	o := Order{DataDir: r.DataDir, Device: r.Device, Threads: r.Threads}
	for _, t := range tasks {
		o.Tasks = append(o.Tasks, t.Task)
	}
	var failed error
	seen := map[int]bool{}
	err = r.Launch(within, o, func(n News) {
		t := tasks[n.Task]
		seen[n.Task] = seen[n.Task] || n.Step != nil || n.Lengths != nil || n.Error != ""
		switch {
		case n.Step != nil:
			failed = cmp.Or(failed, r.keep(t.file, r.takeStep(t, facts(r, t, *n.Step))))
		case n.Lengths != nil:
			r.measures.lengths[t.on()] = facts(r, t, *n.Lengths)
			failed = cmp.Or(failed, r.keep(t.file, r.measures.lengths[t.on()]))
		case n.Error != "":
			r.Log.Warn(fmt.Sprintf("steps of %s on %s could not be measured: %s", t.job.Model, t.job.Data, n.Error))
		}
	})
	for i, t := range tasks {
		if !seen[i] {
			r.measures.skipped[t.on()] = t.need
		}
	}
	if err != nil { // what was not measured is missing in the report; trainings may still succeed
		r.Log.Warn("measuring steps ended early: " + err.Error())
	}
	return cmp.Or(failed, ctx.Err())
}

// stepTasks lists what is to be measured and was not before.
func (r *runner) stepTasks() (tasks []stepTask, err error) {
	steps := 5
	if r.gpu {
		steps = 20
	}
	for e, set := range r.shown() {
		if e.Kind != paper.Steps && e.Kind != paper.Lengths && e.Minutes == 0 {
			continue
		}
		for _, m := range r.asked(e) {
			j, err := newJob(set, m, preset, nil, "", 0)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.ID, err)
			}
			t := stepTask{Task: Task{Job: *j, Steps: steps}, job: j, file: j.Name + "-step"}
			if e.Kind == paper.Lengths {
				t.lengths(e, r.gpu)
			}
			t.need = r.stepNeed(t)
			if !r.known(t) && !slices.ContainsFunc(tasks, func(x stepTask) bool { return x.file == t.file }) {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks, nil
}

// stepNeed is how long a measurement takes, about: lengths of rows take as long as the longest of them.
func (r *runner) stepNeed(t stepTask) time.Duration {
	const warmUp, batch = 4, 200
	train, _, _ := t.job.set.sizes()
	one := r.estimate.epoch(t.job) * batch / max(batch, train)
	if t.Lengths != nil {
		return seconds(8 + 8*one)
	}
	return seconds(1 + float64(warmUp+t.Steps)*one)
}

// lengths makes the task one of rows of different lengths. On a CPU what a step takes is found without computing it:
// the memory is the same, and nobody would wait.
func (t *stepTask) lengths(e paper.Exhibit, gpu bool) {
	t.Steps, t.Planned, t.file = 3, !gpu, t.job.Data+"-"+t.job.Model+"-neighbors"
	for _, p := range e.Points {
		t.Lengths = append(t.Lengths, int(p.X))
	}
	t.Job.Settings = slices.DeleteFunc(slices.Clone(e.Points[0].Settings(t.job.Model)), func(s string) bool {
		return strings.HasPrefix(s, "max_input_sequence_length=")
	})
}

// facts are those of a measurement that is made now.
func facts[R any](r *runner, t stepTask, report R) *Facts[R] {
	f := &Facts[R]{Hash: t.job.set.hash, Planned: t.Planned, Machine: r.machine(1), Version: r.Version, Report: report}
	if t.Lengths == nil {
		f.Spec = json.RawMessage(written(t.job.spec))
	}
	return f
}

// same says whether two measurements are of the same steps on the same device.
func (f *Facts[R]) same(o *Facts[R]) bool {
	var x, y bytes.Buffer // without layout
	json.Compact(&x, f.Spec)
	json.Compact(&y, o.Spec)
	return f.Hash == o.Hash && f.Machine.Device == o.Machine.Device && f.Planned == o.Planned &&
		x.String() == y.String()
}

// known takes up a measurement that was made before, by this machine.
func (r *runner) known(t stepTask) bool {
	if t.Lengths != nil {
		now := facts(r, t, bench.NeighborsReport{})
		f := kept(r, t.file, func(f *Facts[bench.NeighborsReport]) bool {
			return f.same(now) && len(f.Report.Rows) == len(t.Lengths)
		})
		if f != nil {
			r.measures.lengths[t.on()] = f
		}
		return f != nil
	}
	f := kept(r, t.file, facts(r, t, bench.StepReport{}).same)
	return f != nil && r.takeStep(t, f) != nil
}

// takeStep remembers a measurement; it tells how long epochs take, too.
func (r *runner) takeStep(t stepTask, f *Facts[bench.StepReport]) *Facts[bench.StepReport] {
	r.measures.steps[t.on()] = f
	train, val, _ := t.job.set.sizes()
	r.estimate.at(t.job).alone = f.Report.Epoch * (train + val) / max(1, train)
	return f
}
