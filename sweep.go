package dygmamba

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// SweepOptions says what to try. TrainOptions are what all trials share: Set and Dir are needed, Spec is not looked at.
type SweepOptions struct {
	TrainOptions
	Axes   []run.Axis // the settings that differ
	Trials int        // this many combinations drawn at random, by the first seed; 0: all of them
	Full   bool       // train every trial to its end; otherwise half of them end early, again and again

	// Launch trains elsewhere what it is told, seeds and Until included, and brings the run directories to Dir. It is
	// called for all trials of a round at once; nil: trials are trained here, one after another.
	Launch func(ctx context.Context, o TrainOptions) error
	// Part trains only some of the trials, to their end, and chooses none: those whose number modulo Parts is Part. All
	// parts share Dir. Needs Full. Parts 0: all trials.
	Part, Parts int

	OnTrial func(t run.Trial, until int) // told before a trial goes on to an epoch; may be nil
	OnTurn  func(t Turn)                 // told before OnTrial; may be nil
}

// Turn is where a sweep stands when a trial goes on.
type Turn struct {
	Number, Of int           // this trial is the Number-th of those that take part in this round
	Left       time.Duration // about, for all that is to come without the last test; 0: nobody knows yet
}

// RunSweep trains every combination of settings, chooses the best by validation, the mean over all seeds, and
// measures that one on the test; the others never see it.
//
// Unless it is to be Full, the trials run in rounds: after a round the better half goes on, the others end. With n
// trials there are log₂ n rounds, the last at half of num_epochs, each at half the epochs of the next, the first not
// before two.
//
// MaxTime is for all of it: each trial gets the share of the time that its epochs have in all that are to come, and all
// trials use the same parts of the events.
//
// Trials are kept in Dir, each in a directory of its own, and the whole in SweepFile. Resume goes on where it was
// stopped.
func RunSweep(ctx context.Context, o SweepOptions) (*run.Sweep, run.Summary, error) {
	s, err := o.begin()
	if err != nil {
		return nil, run.Summary{}, err
	}
	if err := o.shareBackbone(ctx); err != nil {
		return s, run.Summary{}, err
	}
	if o.Parts > 0 {
		return s, run.Summary{}, o.trainPart(ctx, s)
	}
	clock := newSweepClock(&o, s)
	alive := make([]int, len(s.Trials)) // by number
	for i := range alive {
		alive[i] = i
		s.Trials[i].Ended = 0 // decided anew, from the same scores
	}
	for k, until := range s.Rungs {
		if err := goOn(ctx, s, &o, clock, alive, until); err != nil {
			return s, run.Summary{}, err
		}
		if alive, err = choose(s, alive, until, k < len(s.Rungs)-1); err != nil {
			return s, run.Summary{}, err
		}
		if err := s.Save(o.Dir); err != nil {
			return s, run.Summary{}, err
		}
	}
	best := &s.Trials[alive[0]]
	last := clock.last(o.of(*best))
	summary, err := Train(ctx, last)
	if err != nil {
		return s, summary, fmt.Errorf("%s: %w", best.Name, err)
	}
	s.Best = best.Name
	if err := copyFile(filepath.Join(last.Dir, run.ResultFile), filepath.Join(o.Dir, run.ResultFile)); err != nil {
		return s, summary, err
	}
	return s, summary, s.Save(o.Dir)
}

// begin makes the trials, or takes up those of a sweep that goes on.
func (o *SweepOptions) begin() (*run.Sweep, error) {
	switch {
	case o.Dir == "" || o.Set == nil:
		return nil, errors.New("a sweep needs a data set, and a directory to keep its trials in")
	case o.Parts > 0 && !o.Full:
		return nil, errors.New("parts of a sweep need Full: trials that may end early are compared with those of all " +
			"parts")
	case o.Launch != nil && o.MaxTime > 0:
		return nil, errors.New("a time limit cannot be used where trials are trained elsewhere")
	}
	o.Model = cmp.Or(o.Model, ModelFor(o.Task))
	var err error
	if o.Task, err = TaskOf(o.Model, o.Task); err != nil {
		return nil, err
	}
	if len(o.Seeds) == 0 {
		o.Seeds = []uint64{0}
	}
	o.Spec = nil
	spec, _, err := o.Choose()
	if err != nil {
		return nil, err
	}
	o.Preset = spec.Preset // of all trials
	if err := o.fitsSummary(); err != nil {
		return nil, err
	}
	s, err := o.plan()
	if err != nil {
		return nil, err
	}
	was, err := run.OpenSweep(o.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case !o.Resume && o.Parts == 0:
		return nil, run.ExistsIn(o.Dir, "sweep")
	default:
		if err := differs(was, s); err != nil {
			return nil, fmt.Errorf("resume %s: %w", o.Dir, err)
		}
		s = was
		o.keepRule(s)
	}
	if len(run.Seeds(o.Dir)) > 0 {
		return nil, fmt.Errorf("%s holds a training: choose another directory for a sweep", o.Dir)
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	if o.Parts > 0 { // others may be at it: what is there stays
		if was != nil {
			return s, nil
		}
		return s, s.Save(o.Dir)
	}
	for i := range s.Trials {
		s.Trials[i].Chosen = false
	}
	s.Best = ""
	old := filepath.Join(o.Dir, run.ResultFile) // of the trial that was chosen before
	if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return s, s.Save(o.Dir)
}

// keepRule lets all trials choose their epochs as those do that were begun.
func (o *SweepOptions) keepRule(s *run.Sweep) {
	for _, t := range s.Trials {
		record, err := run.OpenSeed(filepath.Join(o.Dir, t.Name), s.Seeds[0])
		if err == nil && !o.ByAP && !o.ByBoth {
			o.ByAP, o.ByBoth = record.Config.ByAP, !record.Config.ByAP
		}
	}
}

// plan makes the trials and sees that each is a configuration.
func (o *SweepOptions) plan() (*run.Sweep, error) {
	s := &run.Sweep{Format: run.SweepFormat, Model: o.Model, Data: o.Set.Name, Axes: o.Axes, Asked: o.Trials,
		Full: o.Full, Seeds: o.Seeds, Measure: "ap"}
	switch o.Task {
	case protocol.NodeClassification:
		s.Measure = "auc"
	case protocol.Next:
		s.Measure = run.SweepBits
	case protocol.Regression:
		s.Measure = run.SweepError
	}
	base, err := newSpec(o.Model, o.Task, o.Preset, o.Set, o.Settings...)
	if err != nil {
		return nil, err
	}
	if err := o.checkAxes(); err != nil {
		return nil, err
	}
	settings, err := run.Combinations(o.Axes, o.Trials, o.Seeds[0],
		func(key string) (bool, error) { return model.IsWhole(base, key) })
	if err != nil {
		return nil, err
	}
	if len(settings) < 2 {
		return nil, fmt.Errorf("%w: %s gives one trial, want several", model.ErrSetting, run.AxesText(o.Axes))
	}
	epochs := 0
	for i, list := range settings {
		spec, err := newSpec(o.Model, o.Task, o.Preset, o.Set, slices.Concat(o.Settings, list)...)
		if err != nil {
			return nil, fmt.Errorf("trial %s: %w", strings.Join(list, " "), err)
		}
		epochs = max(epochs, spec.Training.Epochs)
		s.Trials = append(s.Trials, run.Trial{Name: fmt.Sprintf("trial-%d", i+1), Settings: list})
	}
	s.Rungs = rungs(len(settings), epochs, o.Full)
	return s, nil
}

// checkAxes sees that nothing is said twice, and that settings of the model are swept where it is the model that
// learns.
func (o *SweepOptions) checkAxes() error {
	for i, a := range o.Axes {
		if slices.ContainsFunc(o.Axes[:i], func(b run.Axis) bool { return a.Key == b.Key }) {
			return fmt.Errorf("%w: %s is swept twice", model.ErrSetting, a.Key)
		}
		if o.Task == protocol.NodeClassification && !slices.Contains(model.Keys(model.Training{}), a.Key) {
			return fmt.Errorf("%w: %s is a setting of the model, which learns from links; with task %s only how "+
				"the classifier learns can be swept: %s",
				model.ErrSetting, a.Key, o.Task, strings.Join(model.Keys(model.Training{}), ", "))
		}
	}
	return nil
}

// rungs are the epochs at which the worse half of n trials ends, then the end itself.
func rungs(n, epochs int, full bool) []int {
	var list []int
	for at := epochs / 2; n > 1 && !full; n, at = (n+1)/2, at/2 {
		list = append(list, max(min(2, epochs/2), 1, at)) // one epoch tells little
	}
	slices.Reverse(list)
	for i := 1; i < len(list); i++ { // few epochs: one more at every rung
		list[i] = min(max(list[i], list[i-1]+1), max(1, epochs))
	}
	return slices.Compact(append(list, epochs))
}

// shareBackbone trains, for labels, the model that all trials classify with.
func (o *SweepOptions) shareBackbone(ctx context.Context) error {
	if o.Task != protocol.NodeClassification || o.Backbone != "" {
		return nil
	}
	first := o.TrainOptions
	first.Task, first.Strategies, first.Dir, first.Resume = "", nil, filepath.Join(o.Dir, "link"), true
	first.MaxTime /= 2 // the rest is for the classifiers
	if _, err := Train(ctx, first); err != nil {
		return fmt.Errorf("train the model to classify with: %w", err)
	}
	o.Backbone = first.Dir
	return nil
}

func (o SweepOptions) of(t run.Trial) TrainOptions {
	one := o.TrainOptions
	one.Dir, one.Resume, one.Spec = filepath.Join(o.Dir, t.Name), true, nil
	one.Settings = slices.Concat(o.Settings, t.Settings)
	return one
}

// goOn trains some of the trials to an epoch, those that are not there yet.
func goOn(
	ctx context.Context, s *run.Sweep, o *SweepOptions, clock *sweepClock, trials []int, until int,
) error {
	launched, err := launch(ctx, s, o, trials, until)
	if err != nil {
		return err
	}
	for number, i := range trials {
		t := &s.Trials[i]
		if reached(t, until, len(s.Seeds)) {
			continue
		}
		if o.OnTurn != nil {
			o.OnTurn(Turn{number + 1, len(trials), clock.left()})
		}
		if o.OnTrial != nil {
			o.OnTrial(*t, until)
		}
		one := o.of(*t)
		one.Until = until
		summary, err := run.Summary{}, launched[i]
		if err == nil { // what was trained elsewhere is found there
			summary, err = Train(ctx, clock.limit(one, until-t.Epochs()))
		}
		clock.keepLimits(one.Dir)
		if hopeless(err) {
			t.Failed = err.Error()
		} else if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		if t.Failed == "" {
			note(t, summary.Runs)
		}
		if err := s.Save(o.Dir); err != nil {
			return err
		}
	}
	return nil
}

// hopeless says that a trial cannot go on, and others may.
func hopeless(err error) bool {
	var plan *train.MemoryError
	var full *device.OutOfMemory
	return errors.Is(err, train.ErrDiverged) || errors.As(err, &plan) || errors.As(err, &full)
}
