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

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/bench"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/models"
	"github.com/dygmamba/dygmamba/protocol"
)

// measures are what was found without training anything, each kept in a file of its own.
type measures struct {
	data    map[string]*DataFacts         // by data set
	rules   map[[2]string]*RuleFacts      // by data set and model
	steps   map[string]*StepFacts         // by job name
	lengths map[[2]string]*LengthFacts    // by data set and model
	skipped map[string]map[string]float64 // steps that were not measured for want of time: data set, model, seconds
	left    int                           // how many were skipped in the last round
}

// RuleFacts is what a model without anything to learn achieved: of its forms the best, as is published.
type RuleFacts struct {
	Hash       string         `json:"data_hash"`
	Model      string         `json:"model"`
	Order      protocol.Order `json:"order,omitempty"`
	Conditions []string       `json:"conditions,omitempty"`
	BatchSize  int            `json:"batch_size"`
	Rows       []eval.Row     `json:"rows"`
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

// StepFacts is what a few training steps took.
type StepFacts struct {
	Hash    string           `json:"data_hash"`
	Spec    json.RawMessage  `json:"spec"`
	Machine Machine          `json:"machine"`
	Version string           `json:"version"`
	Report  bench.StepReport `json:"report"`
}

// LengthFacts is what memory steps take with rows of different lengths.
type LengthFacts struct {
	Hash    string                `json:"data_hash"`
	Planned bool                  `json:"planned"` // found without computing
	Machine Machine               `json:"machine"`
	Version string                `json:"version"`
	Report  bench.NeighborsReport `json:"report"`
}

func (r *runner) measurePath(words ...string) string {
	return filepath.Join(r.Out, "measures", strings.Join(words, "-")+".json")
}

// recall reads a measurement that was made before; good says whether it is one of what is asked for now.
func recall[T any](path string, good func(*T) bool) *T {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	v := new(T)
	if json.Unmarshal(raw, v) != nil || !good(v) {
		return nil
	}
	return v
}

// keep writes a measurement down.
func (r *runner) keep(path string, v any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteJSON(path, v)
}

// lookAtData finds the statistics of data sets, and what rules achieve on them.
func (r *runner) lookAtData(ctx context.Context) error {
	r.measures = measures{
		data: map[string]*DataFacts{}, rules: map[[2]string]*RuleFacts{}, steps: map[string]*StepFacts{},
		lengths: map[[2]string]*LengthFacts{},
	}
	for _, e := range r.exhibits {
		for _, d := range e.Datasets {
			set := r.source(d)
			if set == nil {
				continue
			}
			switch e.Kind {
			case paper.Events, paper.Pairs, paper.Histories, paper.Intervals:
				if err := r.describe(ctx, set); err != nil {
					return err
				}
			case paper.Links:
				for _, m := range e.Models {
					if r.asked(m) && !models.Get(m).Trains {
						if err := r.applyRule(ctx, set, m); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}

// applyRule measures a model that learns nothing, unless that was done.
func (r *runner) applyRule(ctx context.Context, set *source, name string) error {
	key := [2]string{set.Name, name}
	if r.measures.rules[key] != nil {
		return nil
	}
	path := r.measurePath(set.Name, name)
	r.measures.rules[key] = recall(path, func(f *RuleFacts) bool { return f.Hash == set.hash && f.Model == name })
	if r.measures.rules[key] != nil {
		return nil
	}
	contenders, spec, err := models.Contenders(name)
	if err != nil {
		return err
	}
	o := eval.Options{BatchSize: spec.Training.BatchSize, Order: spec.Order, Threads: r.Threads}
	session, err := eval.OpenSession(ctx, set.Set, o, contenders...)
	if err != nil {
		return err
	}
	f := &RuleFacts{Hash: set.hash, Model: name, Order: spec.Order, Conditions: spec.Conditions(),
		BatchSize: spec.Training.BatchSize}
	if f.Rows, err = session.Test(ctx, eval.Tests{Scenarios: []protocol.Scenario{protocol.Transductive}}); err != nil {
		return err
	}
	r.measures.rules[key] = f
	return r.keep(path, f)
}

// stepTask is a measurement to come, and how long it may take.
type stepTask struct {
	Task
	job  *Job
	need time.Duration
}

// measureSteps measures training steps, alone on the machine, as far as that can be done within some time; 0: all.
func (r *runner) measureSteps(ctx context.Context, room time.Duration) error {
	r.measures.left, r.measures.skipped = 0, map[string]map[string]float64{}
	tasks, err := r.stepTasks()
	if err != nil || len(tasks) == 0 {
		return err
	}
	slices.SortStableFunc(tasks, func(a, b stepTask) int { return cmp.Compare(a.need, b.need) })
	within := ctx
	if room > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, room)
		defer cancel()
		tasks = slices.DeleteFunc(tasks, func(t stepTask) bool {
			if room -= t.need; room >= 0 {
				return false
			}
			room += t.need
			r.skip(t)
			return true
		})
	}
	o := Order{DataDir: r.DataDir, Device: r.Device, Threads: r.Threads}
	for _, t := range tasks {
		o.Tasks = append(o.Tasks, t.Task)
	}
	if len(o.Tasks) == 0 {
		return nil
	}
	var failed error
	seen := map[int]bool{}
	err = r.Launch(within, o, func(n News) {
		t := tasks[n.Task]
		seen[n.Task] = seen[n.Task] || n.Step != nil || n.Lengths != nil || n.Error != ""
		switch {
		case n.Step != nil:
			failed = cmp.Or(failed, r.noteStep(t.job, n.Step))
		case n.Lengths != nil:
			failed = cmp.Or(failed, r.noteLengths(t.job, t.Planned, n.Lengths))
		case n.Error != "":
			r.log().Warn(fmt.Sprintf("steps of %s on %s could not be measured: %s", t.job.Model, t.job.Data, n.Error))
		}
	})
	for i, t := range tasks {
		if !seen[i] {
			r.skip(t)
		}
	}
	if err != nil { // what was not measured is missing in the report; trainings may still succeed
		r.log().Warn("measuring steps ended early: " + err.Error())
	}
	return cmp.Or(failed, ctx.Err())
}

func (r *runner) skip(t stepTask) {
	if r.measures.skipped[t.job.Data] == nil {
		r.measures.skipped[t.job.Data] = map[string]float64{}
	}
	r.measures.skipped[t.job.Data][t.job.Model] = t.need.Seconds()
	r.measures.left++
}

// stepTasks lists what is to be measured and was not before.
func (r *runner) stepTasks() (tasks []stepTask, err error) {
	steps, lengthSteps := 5, 3
	if r.gpu {
		steps = 20
	}
	for _, e := range r.exhibits {
		if e.Kind != paper.Steps && e.Kind != paper.Lengths && e.Minutes == 0 {
			continue
		}
		for _, d := range e.Datasets {
			for _, m := range e.Models {
				set := r.source(d)
				if set == nil || !r.asked(m) {
					continue
				}
				j, err := newJob(set, m, nil, "", 0)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", e.ID, err)
				}
				t := stepTask{Task: Task{Job: *j, Steps: steps}, job: j}
				if e.Kind == paper.Lengths {
					t.lengths(e, r.gpu, lengthSteps)
				}
				t.need = r.stepNeed(t)
				if !r.known(t) && !slices.ContainsFunc(tasks, func(x stepTask) bool { return x.same(t) }) {
					tasks = append(tasks, t)
				}
			}
		}
	}
	return tasks, nil
}

// stepNeed is how long a measurement takes, about: lengths of rows take as long as the longest of them.
func (r *runner) stepNeed(t stepTask) time.Duration {
	const warmUp, batch = 4, 200
	one := r.estimate.epoch(t.job) * batch
	if split := r.estimate.split(t.job); split != nil {
		one /= float64(max(batch, split.Train.Len()))
	}
	if t.Lengths != nil {
		return seconds(8 + 8*one)
	}
	return seconds(1 + float64(warmUp+t.Steps)*one)
}

func (t stepTask) same(o stepTask) bool {
	return t.job.Name == o.job.Name && (t.Task.Lengths == nil) == (o.Task.Lengths == nil)
}

// lengths makes the task one of rows of different lengths. On a CPU what a step takes is found without computing it:
// the memory is the same, and nobody would wait.
func (t *stepTask) lengths(e paper.Exhibit, gpu bool, steps int) {
	t.Steps, t.Planned = steps, !gpu
	for _, p := range e.Points {
		t.Lengths = append(t.Lengths, int(p.X))
	}
	for _, s := range e.Points[0].Settings(t.job.Model) {
		if !strings.HasPrefix(s, "max_input_sequence_length=") {
			t.Job.Settings = append(t.Job.Settings, s)
		}
	}
}

// known takes up a measurement that was made before, by this machine.
func (r *runner) known(t stepTask) bool {
	if t.Lengths != nil {
		key := [2]string{t.job.Data, t.job.Model}
		f := recall(r.measurePath(t.job.Data, t.job.Model, "neighbors"), func(f *LengthFacts) bool {
			return f.Hash == t.job.set.hash && f.Machine.Device == r.device && f.Planned == t.Planned &&
				len(f.Report.Rows) == len(t.Lengths)
		})
		if f != nil {
			r.measures.lengths[key] = f
		}
		return f != nil
	}
	f := recall(r.measurePath(t.job.Name, "step"), func(f *StepFacts) bool {
		spec, err := json.Marshal(t.job.spec)
		return err == nil && f.Hash == t.job.set.hash && f.Machine.Device == r.device && compact(f.Spec) == string(spec)
	})
	if f == nil {
		return false
	}
	r.takeStep(t.job, f)
	return true
}

// compact is JSON without its layout.
func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}

func (r *runner) noteStep(j *Job, s *bench.StepReport) error {
	spec, err := json.Marshal(j.spec)
	if err != nil {
		return err
	}
	machine := r.machine()
	machine.Jobs, machine.Threads = 1, r.Threads
	f := &StepFacts{Hash: j.set.hash, Spec: spec, Machine: machine, Version: r.Version, Report: *s}
	r.takeStep(j, f)
	return r.keep(r.measurePath(j.Name, "step"), f)
}

// takeStep remembers a measurement; it tells how long epochs take, too.
func (r *runner) takeStep(j *Job, f *StepFacts) {
	r.measures.steps[j.Name] = f
	if split := r.estimate.split(j); split != nil {
		train := float64(max(1, split.Train.Len()))
		r.estimate.timed(j, f.Report.Epoch*(train+forwards*float64(split.Val.Len()+split.NewVal.Len()))/train)
	}
}

func (r *runner) noteLengths(j *Job, planned bool, report *bench.NeighborsReport) error {
	machine := r.machine()
	machine.Jobs, machine.Threads = 1, r.Threads
	f := &LengthFacts{Hash: j.set.hash, Planned: planned, Machine: machine, Version: r.Version, Report: *report}
	r.measures.lengths[[2]string{j.Data, j.Model}] = f
	return r.keep(r.measurePath(j.Data, j.Model, "neighbors"), f)
}
