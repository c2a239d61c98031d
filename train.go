package dygmamba

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// TrainOptions says what to train on what. Only Set is needed; the zero value of the rest is a good start.
type TrainOptions struct {
	Set      *dataset.Set   // opened by dataset.Open
	Device   device.Device  // opened by open.Device; nil: the CPU
	Model    string         // name in the catalogue of package models; "" is the default of the task
	Preset   string         // "" is the one the model prefers for the data set and the kind of device
	Settings []string       // key=value
	Order    protocol.Order // for a model that remembers; "": the preset's
	Spec     *model.Spec    // the whole configuration, as NewSpec makes it, instead of Preset, Settings and Order

	// Task is link prediction ("" too), node classification, next or regression. Node classification trains a
	// classifier of labels on what a model says that was trained on links: Backbone is the directory of that training,
	// with the same seeds. "" trains it first, in "link" below Dir. Next is for countnet, which can learn nothing else,
	// and for all models that embed pairs. Regression trains the whole model to tell the value of an event.
	Task     protocol.Task
	Backbone string

	// From is the run directory, or checkpoint, whose weights training begins with: a warm start on newer data.
	From string
	// FitAll trains a second time when that is done: on all events, test included, for the number of epochs that
	// validation chose. The first training is kept in "chosen" below Dir, and the results are its own.
	FitAll bool

	Dir     string   // each seed's run directory is SeedDir of it, a summary lies beside them; "" keeps nothing
	Seeds   []uint64 // nil is seed 0
	Resume  bool     // continue what is in Dir
	Threads int      // that gather batches, and of the CPU if Device is nil; 0: all

	// MaxTime is for all seeds together, tests included: they end by then with what is the best so far. Where one epoch
	// with its validation and the test does not fit, parts of the events are used, and the records say which; 0: no
	// limit. The time counts from Began, or from the call where that is zero.
	MaxTime     time.Duration
	Began       time.Time
	Limits      eval.Limits          // parts of the events to use; the zero value is all, or what MaxTime has room for
	SaveEvery   time.Duration        // 0: every half minute
	MemoryLimit int64                // bytes on the device; 0: what is free
	ByAP        bool                 // choose the best epoch by AP alone, as all presets do that are not published ones
	ByBoth      bool                 // choose one whose AP and AUC are both at least the best so far, as these do
	TestEvery   int                  // look at the test sets every this many epochs
	Strategies  []protocol.Negatives // negatives of the final evaluation; nil: random
	TensorBoard bool

	// Ranks are processes that share the batches, each with its own call of Train; nil: this one is alone. Shards is
	// the number of parts that a batch is then cut into, 0: train.DefaultShards. Only rank 0 writes to Dir.
	Ranks  *collective.Group
	Shards int

	// Until pauses after this many epochs and leaves the test alone: a trial of a sweep; 0: train to the end.
	Until int

	deadline time.Time // of MaxTime; zero: none
	planned  bool      // Limits are what MaxTime has room for

	Log     *slog.Logger
	OnStep  func(seed uint64, s train.Step)
	OnEpoch func(seed uint64, e run.Epoch)
}

// Train trains a model once for every seed. When ctx ends, what was done is saved and Resume continues it.
func Train(ctx context.Context, o TrainOptions) (run.Summary, error) {
	if o.MaxTime > 0 {
		o.deadline = cmp.Or(o.Began, time.Now()).Add(o.MaxTime)
	}
	o.Model = cmp.Or(o.Model, ModelFor(o.Task))
	factory, err := model.Find(o.Model)
	if err != nil {
		return run.Summary{}, err
	}
	if o.Task, err = TaskOf(o.Model, o.Task); err != nil {
		return run.Summary{}, err
	}
	if o.Task == protocol.Next {
		o.Strategies = nil // there are no negatives
	}
	if o.Device == nil {
		dev := cpu.New(cpu.Options{Threads: o.Threads})
		defer dev.Close()
		o.Device = dev
	}
	if o.Spec == nil {
		spec, _, err := o.Choose()
		if err != nil {
			return run.Summary{}, err
		}
		o.Spec = &spec
	}
	if len(o.Seeds) == 0 {
		o.Seeds = []uint64{0}
	}
	if err := cmp.Or(o.fitsRanks(), o.tellsKinds()); err != nil {
		return run.Summary{}, err
	}
	if o.FitAll {
		return o.fitAll(ctx, factory)
	}
	if err := o.nameClasses(); err != nil {
		return run.Summary{}, err
	}
	proto, err := o.protocol(ctx)
	if err != nil {
		return run.Summary{}, o.inTime(ctx, err)
	}
	if o.Task == protocol.Regression {
		if proto, err = o.takeTarget(proto); err != nil {
			return run.Summary{}, err
		}
	}
	if o.Task == protocol.NodeClassification {
		if err := o.fitsTask(); err != nil {
			return run.Summary{}, err
		}
		done, err := o.prepareBackbone(ctx)
		if done != nil {
			defer done()
		}
		if err != nil {
			return run.Summary{}, err
		}
	}
	if o.ByAP, err = o.choosesByAP(); err != nil {
		return run.Summary{}, err
	}
	if o.From, err = o.startingPoint(); err != nil {
		return run.Summary{}, err
	}
	if _, err := await.Do(ctx, func() (any, error) { return nil, o.fits(proto) }); err != nil {
		return run.Summary{}, err
	}
	if proto.Split().Val.Len() == 0 && o.Log != nil {
		o.Log.Warn("no events are left to validate on: the best epoch is the one that does best in training")
	}
	return o.seeds(ctx, factory, proto)
}

// seeds trains one run after another.
func (o *TrainOptions) seeds(ctx context.Context, f model.Factory, proto *eval.Protocol) (run.Summary, error) {
	var runs []run.Result
	var pace train.Pace
	for i, seed := range o.Seeds {
		job := o.run(f, *o.Spec, proto, seed)
		if job.Pace = pace; o.MaxTime > 0 { // what is left is for all that are left
			job.Deadline = time.Now().Add(time.Until(o.deadline) / time.Duration(len(o.Seeds)-i))
		}
		if i == 0 {
			var err error
			if proto, err = o.fit(ctx, job); err != nil {
				return run.Summary{}, err
			}
			pace = job.Pace
		}
		r, err := job.Train(ctx)
		if err != nil {
			o.writeSummary() // those that are over; the error is this one
			return run.Summarize(runs), fmt.Errorf("seed %d: %w", seed, err)
		}
		runs = append(runs, r)
	}
	if o.Until > 0 { // there is nothing to sum up yet
		return run.Summarize(runs), nil
	}
	return run.Summarize(runs), o.writeSummary()
}

// writeSummary sums up the runs of the directory, which is rank 0's to do.
func (o *TrainOptions) writeSummary() error {
	if !o.writes() {
		return nil
	}
	return run.WriteSummary(o.Dir)
}

// writes says whether this process writes files.
func (o *TrainOptions) writes() bool { return o.Ranks == nil || o.Ranks.Rank() == 0 }

// fitsRanks refuses what ranks cannot share.
func (o *TrainOptions) fitsRanks() error {
	if o.Ranks == nil {
		return nil
	}
	switch {
	case o.Task != protocol.LinkPrediction && o.Task != "":
		return fmt.Errorf("the task %s cannot be trained by several ranks, only %s", o.Task, protocol.LinkPrediction)
	case o.MaxTime > 0:
		return errors.New("a time limit cannot be used with ranks: each would end elsewhere; limit num_epochs instead")
	case o.FitAll:
		return errors.New("training on all events cannot be shared by ranks")
	}
	_, err := collective.NewShards(cmp.Or(o.Shards, train.DefaultShards), o.Ranks.Rank(), o.Ranks.Size())
	return err
}

// protocol opens that of the training: with the parts of the events that runs of the directory began with.
func (o *TrainOptions) protocol(ctx context.Context) (*eval.Protocol, error) {
	start, done := ctx, context.CancelFunc(func() {})
	if o.MaxTime > 0 {
		const grace = 2 * time.Second // a short limit still gets a result
		start, done = context.WithDeadline(ctx, o.deadline.Add(grace))
	}
	defer done()
	p, err := await.Do(start, func() (*eval.Protocol, error) { return eval.Open(o.Set, o.options()) })
	if err != nil {
		return nil, err
	}
	if begun := run.Seeds(o.Dir); o.Dir != "" && len(begun) > 0 {
		record, err := run.Open(run.SeedDir(o.Dir, begun[0]))
		if parts := record.Config.Parts(); err == nil && parts.Any() {
			return p.Limit(parts), nil
		}
	}
	return p, nil
}

// tellsKinds says what is missing where kinds of events are to be told apart.
func (o *TrainOptions) tellsKinds() error {
	switch kinds := len(o.Set.Kinds); {
	case !o.Spec.Training.ByKind():
	case kinds < 2:
		return fmt.Errorf("%s: %w; data import --kind names their column", o.Set.Name, eval.ErrNoKinds)
	case o.Spec.Kinds() == 0:
		return fmt.Errorf("tell kinds of events apart: %s does not see them, want %s", o.Model,
			strings.Join(model.TellingKinds(), " or "))
	}
	return nil
}

// inTime explains an error of a training whose time was up before it began.
func (o *TrainOptions) inTime(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("the time limit of %v ended before training began: to read and split %d events takes longer "+
			"on this machine", o.MaxTime, o.Set.Log.Len())
	}
	return err
}

// options are those of the protocol.
func (o *TrainOptions) options() eval.Options {
	return eval.Options{
		Task: o.Task, BatchSize: o.Spec.Training.BatchSize, Threads: o.Threads, Order: o.Spec.Order,
		Shares: o.Spec.Training.Negatives, LinkSplit: o.Spec.LinkSplit(),
		ByKind: o.Spec.Training.ByKind(), Classes: o.Spec.Classes, Target: o.Spec.Target,
	}
}

// fit gives the first run of a training the part of the events that it has time for. Where runs have begun already,
// what they began with stays.
func (o *TrainOptions) fit(ctx context.Context, job *train.Run) (*eval.Protocol, error) {
	if o.Dir != "" && len(run.Seeds(o.Dir)) > 0 {
		return job.Protocol, nil
	}
	limits := o.Limits
	if !limits.Any() && o.planned {
		return job.Protocol, nil
	}
	if !limits.Any() {
		var err error
		if limits, err = job.Fit(ctx); err != nil || !limits.Any() {
			return job.Protocol, err
		}
	}
	job.Protocol = job.Protocol.Limit(limits)
	if o.Log != nil {
		o.Log.Info(limited(job.Protocol))
	}
	return job.Protocol, nil
}

// limited says what a time limit leaves of the events.
func limited(p *eval.Protocol) string {
	var list []string
	if s := p.SampledTrain(); s != nil {
		list = append(list, "an epoch has "+s.String())
	}
	if s := p.SampledPart(eval.Val); s != nil {
		list = append(list, "validation asks about "+s.String())
	}
	if p.Limits().Block {
		list = append(list, "memory and state begin empty at the first training event")
	}
	if list == nil {
		list = []string{"the test will ask about a sample of the events"}
	}
	return "to end in time: " + strings.Join(list, "; ")
}

// choosesByAP says whether AP alone chooses the best epoch. Where nothing is asked for, that is so in the runs that are
// in the directory already, or else unless the preset does as published programs did.
func (o *TrainOptions) choosesByAP() (bool, error) {
	begun := run.Seeds(o.Dir)
	switch {
	case o.ByAP || o.ByBoth:
		return o.ByAP && !o.ByBoth, nil
	case o.Dir == "" || len(begun) == 0:
		return !o.Spec.AsPublished() && (o.Task == "" || o.Task == protocol.LinkPrediction), nil
	}
	record, err := run.Open(run.SeedDir(o.Dir, begun[0]))
	return record.Config.ByAP, err
}

// DefaultModel is what is trained when neither a model nor a task is named.
const DefaultModel = "dygmamba"

// ModelFor is the default model of a task.
func ModelFor(task protocol.Task) string {
	if made := model.MadeFor(task); task != "" && len(made) > 0 {
		return made[0]
	}
	return DefaultModel
}

// TaskOf is the task that a model learns when it is asked to learn one; "": the one that it was made for. It is an
// error if the model cannot learn it.
func TaskOf(name string, asked protocol.Task) (protocol.Task, error) {
	factory, err := model.Find(name)
	if err != nil {
		return "", err
	}
	only, task := factory.Task, cmp.Or(asked, factory.Task)
	switch {
	case only != "" && task != only:
		return "", fmt.Errorf("%s cannot learn the task %s: it learns %s", name, task, only)
	case task == protocol.Next && !factory.CanLearn(task):
		return "", fmt.Errorf("%s cannot learn the task %s: it has nothing to learn", name, task)
	}
	return task, nil
}

// NewSpec is a model's whole configuration for a data set: a preset ("" for the one it prefers there, whatever
// computes) changed by settings "key=value". Its Config is a pointer to the Config of the model's package, and can be
// changed there too.
func NewSpec(name, preset string, set *dataset.Set, settings ...string) (model.Spec, error) {
	return newSpec(name, "", preset, set, settings...)
}

// newSpec is NewSpec for a task; "" is the model's own.
func newSpec(name string, task protocol.Task, preset string, set *dataset.Set, settings ...string) (model.Spec, error) {
	factory, err := model.Find(name)
	if err != nil {
		return model.Spec{}, err
	}
	return factory.SpecFor(task, preset, model.DataOf(set), settings...)
}

// Choose is the whole configuration that Train trains with. Where no preset is asked for, a model may prefer a light
// one for a first look at many imported events on a CPU; full is then the one that it would prefer otherwise, "" in
// all other cases.
func (o TrainOptions) Choose() (spec model.Spec, full string, err error) {
	if o.Spec != nil {
		return *o.Spec, "", nil
	}
	factory, err := model.Find(cmp.Or(o.Model, ModelFor(o.Task)))
	if err != nil {
		return spec, "", err
	}
	data := model.DataOf(o.Set)
	otherwise, err := factory.SpecFor(o.Task, o.Preset, data, o.Settings...)
	if err != nil {
		return spec, "", err
	}
	_, data.OnCPU = o.Device.(device.Threaded)
	data.OnCPU = data.OnCPU || o.Device == nil
	if spec, err = factory.SpecFor(o.Task, o.Preset, data, o.Settings...); err != nil {
		return spec, "", err
	}
	if spec.Preset != otherwise.Preset {
		full = otherwise.Preset
	}
	return spec, full, factory.SetOrder(&spec, o.Order)
}

func (o TrainOptions) run(f model.Factory, spec model.Spec, p *eval.Protocol, seed uint64) *train.Run {
	r := &train.Run{
		Model: o.Model, Factory: f, Spec: spec, Set: o.Set, Protocol: p, Device: o.Device, Seed: seed,
		Dir: o.Dir, Resume: o.Resume, SaveEvery: o.SaveEvery, MemoryLimit: o.MemoryLimit, ByAP: o.ByAP,
		TestEvery: o.TestEvery, Strategies: o.Strategies, TensorBoard: o.TensorBoard, Log: o.Log, Until: o.Until,
		From: o.From, Ranks: o.Ranks, Shards: o.Shards,
	}
	if r.SaveEvery == 0 {
		r.SaveEvery = 30 * time.Second
	}
	if !o.writes() {
		r.Dir, r.TensorBoard = "", false
	} else if o.Dir != "" {
		r.Dir = run.SeedDir(o.Dir, seed)
	}
	if o.Task == protocol.NodeClassification {
		r.Backbone = filepath.Join(run.SeedDir(o.Backbone, seed), run.CheckpointFile)
	}
	if o.OnStep != nil {
		r.OnStep = func(s train.Step) { o.OnStep(seed, s) }
	}
	if o.OnEpoch != nil {
		r.OnEpoch = func(e run.Epoch) { o.OnEpoch(seed, e) }
	}
	return r
}
