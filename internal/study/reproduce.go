// Package study answers: do our own runs show what the paper shows?
//
// It knows every table and figure of the paper, plans the trainings and measurements that these need, carries them out
// within a budget of time, the most telling first, and writes a report that sets what came out beside what was
// published. What is done is not done again, and what was interrupted goes on.
package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/open"
	"github.com/dygmamba/dygmamba/internal/paper"
	"github.com/dygmamba/dygmamba/internal/suggest"
	"github.com/dygmamba/dygmamba/model"
)

// Options say what to reproduce. Names or Own, and Out, are needed.
type Options struct {
	Names    []string      // tables and figures by id or number, or "all"
	Own      *Own          // a study of one's own instead
	Datasets []string      // only these; nil: all that the exhibits have
	Models   []string      // only these; nil: likewise
	Seeds    int           // of every training, from 0 on; 0 is 1
	Budget   time.Duration // everything ends within it, the report included; 0: when all is done
	Out      string        // directory of runs, measurements and the report
	Earlier  []string      // runs that count as done: directories, or files with a run in each line
	Into     string        // records that each run is added to when it is done; of this process alone; "" none
	DataDir  string        // where data sets lie
	Fetch    bool          // download those that are not there
	Device   string        // auto, cpu or cuda
	Threads  int           // of all trainings together; 0: one for every processor
	Jobs     int           // trainings at once; 0: as suits the device
	Epochs   int           // a shorter schedule than the published one, for a first look; 0: the published one

	// Shard is the part of the trainings that this process has, where several share a directory: those whose number
	// leaves Shard when divided by Shards; 0 shards: all. Without a part, what the others made is found and reported.
	Shard, Shards int

	Launch  Launch // nil: Here
	Version string // of the program, for the records
	Log     *slog.Logger
	OnState func(State) // told now and then how far it is; may be nil
}

// ErrName says that there is no such exhibit, data set or model.
var ErrName = errors.New("unknown name")

// Exhibit is a table or figure that can be reproduced.
type Exhibit = paper.Heading

// Exhibits lists them in the order of the paper.
func Exhibits() (list []Exhibit) {
	for _, e := range paper.Exhibits() {
		list = append(list, e.Heading)
	}
	return list
}

// Run reproduces. When ctx ends, what was done is kept and reported, and the error wraps ctx's.
func Run(ctx context.Context, o Options) (*Report, error) {
	r, err := newRunner(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	stopped := r.carryOut(ctx)
	if stopped != nil && !errors.Is(stopped, context.Canceled) && !errors.Is(stopped, context.DeadlineExceeded) {
		return nil, stopped
	}
	report, err := r.finish(ctx.Err() != nil)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("%d of %d runs are done, and %d have had their time: %w", report.Counted(Done),
			len(report.Runs), report.Counted(Cut), ctx.Err())
	}
	return report, err
}

// Preview is the plan alone: nothing is trained, measured or written.
func Preview(ctx context.Context, o Options) (*Plan, error) {
	r, err := newRunner(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	p := &Plan{Device: r.device, Jobs: r.Jobs, Runs: []Planned{}, Missing: r.missing, Budget: r.Budget.Seconds()}
	for _, e := range r.exhibits {
		p.Exhibits = append(p.Exhibits, e.Heading)
	}
	for _, j := range r.order(slices.Clone(r.jobs)) {
		one := Planned{Run: j.id(), State: j.found.state}
		if one.State != Done {
			least, usual := r.estimate.remaining(j)
			one.Least, one.Expects = round(least), round(usual)
		}
		p.add(one)
	}
	if open := len(p.Runs) - counted(p.Runs, Done); r.timed() && open > 0 {
		p.Share = p.Budget * float64(p.Jobs) / float64(open)
	}
	return p, nil
}

// runner is a reproduction under way.
type runner struct {
	Options
	began     time.Time
	deadline  time.Time // for trainings; zero: none
	exhibits  []paper.Exhibit
	sources   []*source
	missing   []Missing
	jobs      []*Job            // the best first when they were planned
	trainings map[string][]*Job // the same by Job.Name, in the order of seeds
	earlier   []Record
	device    string // its name
	gpu       bool
	estimate  *estimator
	measures  measures
	state     stateFile
	phases    []Phase
}

// Phase is a part of the work and how long it took.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// newRunner finds out what there is and what is to be done.
func newRunner(ctx context.Context, o Options) (*runner, error) {
	r := &runner{Options: o, began: time.Now(), trainings: map[string][]*Job{}, missing: []Missing{}}
	r.Seeds, r.Device = max(1, o.Seeds), cmp.Or(o.Device, "auto")
	r.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	r.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if r.Launch == nil {
		r.Launch = Here
	}
	for _, step := range []func() error{
		r.choose,
		r.openDevice,
		func() error { return r.phase("reading data", func() error { return r.openSources(ctx) }) },
		r.readEarlier,
		func() error { return r.phase("planning", r.plan) },
	} {
		if err := step(); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

// readEarlier lists the runs that were made before.
func (r *runner) readEarlier() error {
	for _, path := range r.Earlier {
		list, err := ReadRecords(path)
		if err != nil {
			return fmt.Errorf("earlier runs: %w", err)
		}
		r.earlier = append(r.earlier, list...)
	}
	return nil
}

// choose finds what was named.
func (r *runner) choose() error {
	if r.Own != nil {
		return r.chooseOwn()
	}
	all := paper.Exhibits()
	for _, name := range r.Names {
		found, ok := paper.Find(name)
		if !ok {
			var ids []string
			for _, e := range all {
				ids = append(ids, e.ID)
			}
			return unknown("no table or figure", name, ids, "there are %s, their numbers such as table-1, and all")
		}
		for _, e := range found {
			if !slices.ContainsFunc(r.exhibits, func(x paper.Exhibit) bool { return x.ID == e.ID }) {
				r.exhibits = append(r.exhibits, e)
			}
		}
	}
	if len(r.exhibits) == 0 {
		return fmt.Errorf("%w: no table or figure was named", ErrName)
	}
	sets := datasets(all)
	for i, name := range r.Datasets {
		k := slices.IndexFunc(sets, func(s string) bool { return strings.EqualFold(s, name) })
		if k < 0 {
			return unknown("the paper has no data set", name, sets, "it has %s")
		}
		r.Datasets[i] = sets[k]
	}
	for _, name := range r.Models {
		if names := model.Registered(); !slices.Contains(names, name) {
			return unknown("no model", name, names, "there are %s")
		}
	}
	return nil
}

// unknown is the error about a name that is none of a list.
func unknown(what, name string, names []string, there string) error {
	return fmt.Errorf("%w: %s %q%s; "+there, ErrName, what, name, suggest.Hint(name, names), strings.Join(names, ", "))
}

// phase times a part of the work.
func (r *runner) phase(name string, do func() error) error {
	began := time.Now()
	err := do()
	took := time.Since(began)
	r.phases = append(r.phases, Phase{name, took.Seconds()})
	r.Log.Info(fmt.Sprintf("%s took %v", name, took.Round(100*time.Millisecond)))
	return err
}

// openDevice looks what computes, and how many trainings suit it.
func (r *runner) openDevice() error {
	dev, note, err := open.Device(r.Device, open.Options{Threads: 1})
	if err != nil {
		return err
	}
	if note != "" {
		r.Log.Info("computing on the CPU: " + note)
	}
	_, cpu := dev.(device.Threaded)
	r.device, r.gpu = dev.Name(), !cpu
	if r.Jobs == 0 {
		r.Jobs = 1
		if r.gpu {
			r.Jobs = max(1, min(6, r.Threads/2)) // more take turns
		}
	}
	r.estimate = newEstimator(r.gpu, max(1, r.Threads/r.Jobs), r.Jobs)
	return dev.Close()
}
