package study

import (
	"cmp"
	"context"
	"errors"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/open"
	"github.com/dygmamba/dygmamba/internal/bench"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/tensor"
	"github.com/dygmamba/dygmamba/train"
)

// Order is what a worker is to do, one task after the other on one device.
type Order struct {
	DataDir string `json:"data_dir,omitempty"`
	Device  string `json:"device"`
	Threads int    `json:"threads"`
	Exact   bool   `json:"exact,omitempty"` // products of a GPU that learns are not rounded to TF32
	Tasks   []Task `json:"tasks"`
}

// Task is a training, or the measurement of a few steps of one.
type Task struct {
	Job Job    `json:"job"`
	Dir string `json:"dir,omitempty"` // a training: where it is kept
	// MaxTime is the time limit of a training and its test in seconds; 0: no limit.
	MaxTime  float64 `json:"max_time_s,omitempty"`
	Batches  bool    `json:"batches,omitempty"`  // keep what the batches of the test have
	Backbone string  `json:"backbone,omitempty"` // of a classifier
	Steps    int     `json:"steps,omitempty"`    // measure this many steps instead
	Lengths  []int   `json:"lengths,omitempty"`  // measure with rows of these lengths instead
	Planned  bool    `json:"planned,omitempty"`  // of lengths: memory alone, without computing

	// Trial is what else a trial of a sweep has; nil: it is a training of a study.
	Trial *Trial `json:"trial,omitempty"`
}

// Trial is how a training of a sweep differs from those of studies.
type Trial struct {
	Until     int                  `json:"until"` // epochs, after which it pauses
	Order     protocol.Order       `json:"order,omitempty"`
	ByAP      bool                 `json:"by_ap,omitempty"`
	ByBoth    bool                 `json:"by_both,omitempty"`
	TestEvery int                  `json:"test_every,omitempty"`
	Negatives []protocol.Negatives `json:"negatives,omitempty"`
}

// News is what a worker tells while it works: each is a line of JSON.
type News struct {
	Task     int                    `json:"task"`
	Epoch    *run.Epoch             `json:"epoch,omitempty"`
	Step     *bench.StepReport      `json:"step,omitempty"`
	Lengths  *bench.NeighborsReport `json:"lengths,omitempty"`
	Error    string                 `json:"error,omitempty"`   // of a task that is finished, or of all of them
	Stopped  bool                   `json:"stopped,omitempty"` // by whoever gave the order; what was done is kept
	Finished bool                   `json:"finished,omitempty"`
	Diverged bool                   `json:"diverged,omitempty"` // with Error: it would, wherever it is trained
}

// work carries out an order.
func work(ctx context.Context, o Order, tell func(News)) {
	dev, _, err := open.Device(o.Device, open.Options{Threads: o.Threads, Exact: o.Exact})
	if err != nil {
		tell(News{Error: err.Error()})
		return
	}
	defer dev.Close()
	w := &worker{Order: o, dev: dev}
	defer w.close()
	for i, t := range o.Tasks {
		var err error
		failed := tensor.Guard(func() { err = w.do(ctx, t, func(n News) { n.Task = i; tell(n) }) })
		stopped := ctx.Err() != nil
		n := News{Task: i, Stopped: stopped, Finished: !stopped}
		if err = cmp.Or(failed, err); err != nil && n.Finished {
			n.Error, n.Diverged = err.Error(), errors.Is(err, train.ErrDiverged)
		}
		if tell(n); n.Stopped {
			return
		}
	}
}

// worker has a device, and the data set that it used last.
type worker struct {
	Order
	dev  device.Device
	name string
	set  *dataset.Set
}

func (w *worker) close() {
	if w.set != nil {
		w.set.Close()
	}
}

func (w *worker) open(ctx context.Context, name string) (err error) {
	if w.name == name {
		return nil
	}
	w.close()
	w.name = name
	w.set, err = dataset.Open(ctx, name, dataset.Options{DataDir: w.DataDir})
	return err
}

func (w *worker) do(ctx context.Context, t Task, tell func(News)) error {
	if err := w.open(ctx, cmp.Or(t.Job.Path, t.Job.Data)); err != nil {
		return err
	}
	if t.Steps > 0 {
		return w.measure(ctx, t, tell)
	}
	o := dygmamba.TrainOptions{
		Set: w.set, Device: w.dev, Model: t.Job.Model, Preset: t.Job.Preset, Settings: t.Job.Settings, Task: t.Job.Task,
		Backbone: t.Backbone, Dir: t.Dir, Seeds: []uint64{t.Job.Seed}, Resume: true, Threads: w.Threads,
		Strategies: protocol.Published(), MaxTime: seconds(t.MaxTime),
		OnEpoch: func(_ uint64, e run.Epoch) { tell(News{Epoch: &e}) },
	}
	if s := t.Trial; s != nil {
		o.Until, o.Order, o.ByAP, o.ByBoth, o.TestEvery = s.Until, s.Order, s.ByAP, s.ByBoth, s.TestEvery
		o.Strategies = s.Negatives
	}
	summary, err := dygmamba.Train(ctx, o)
	if err == nil && t.Batches {
		err = writeBatches(run.SeedDir(t.Dir, t.Job.Seed), summary)
	}
	return err
}

// measure measures steps of a training, with rows of several lengths where the task has these.
func (w *worker) measure(ctx context.Context, t Task, tell func(News)) error {
	factory, err := model.Find(t.Job.Model)
	if err != nil {
		return err
	}
	spec, err := factory.Spec(t.Job.Preset, model.DataOf(w.set), t.Job.Settings...)
	if err != nil {
		return err
	}
	if f, ok := w.dev.(device.Forgetter); ok { // what it recorded for the model before
		f.Forget()
	}
	if t.Lengths != nil {
		_, err = bench.Neighbors{
			Model: t.Job.Model, Factory: factory, Preset: t.Job.Preset, Settings: t.Job.Settings, Set: w.set,
			Device: w.dev, Threads: w.Threads, Lengths: t.Lengths, Steps: t.Steps, Planned: t.Planned,
			OnRow: func(r *bench.NeighborsReport) error { tell(News{Lengths: r}); return nil },
		}.Run(ctx)
		return err
	}
	report, err := bench.Step{
		Model: t.Job.Model, Factory: factory, Spec: spec, Set: w.set, Device: w.dev, Threads: w.Threads,
		Batches: t.Steps, Brief: true,
	}.Run(ctx)
	if err == nil {
		tell(News{Step: &report})
	}
	return err
}
