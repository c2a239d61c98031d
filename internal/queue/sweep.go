package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/study"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// diverged is the end of a trial that others survive.
type diverged string

func (e diverged) Error() string        { return string(e) }
func (e diverged) Is(target error) bool { return target == train.ErrDiverged }

// Sweep lets workers train the trials of a sweep, each seed as an order of its own. Path leads to the data where their
// name does not; exact: products of a GPU are not rounded. OnEpoch is told of epochs of all trials, by their directory;
// several goroutines call it.
func (q *Queue) Sweep(
	path string, exact bool, onEpoch func(dir string, seed uint64, e run.Epoch),
) func(context.Context, dygmamba.TrainOptions) error {
	return func(ctx context.Context, o dygmamba.TrainOptions) error {
		if o.From != "" || o.FitAll || o.MaxTime > 0 || o.Task != "" && o.Task != protocol.LinkPrediction {
			return errors.New("workers train trials of task link only: no other run to begin with, no time limit")
		}
		errs := make([]error, len(o.Seeds))
		var all sync.WaitGroup
		for i, seed := range o.Seeds {
			order := study.Order{Exact: exact, Tasks: []study.Task{{Dir: o.Dir, Job: study.Job{
				Name: fmt.Sprintf("sweep of %s on %s", o.Model, o.Set.Name), Data: o.Set.Name, Path: path,
				Model: o.Model, Preset: o.Preset, Settings: o.Settings, Seed: seed,
			}, Trial: &study.Trial{Until: o.Until, Order: o.Order, ByAP: o.ByAP, ByBoth: o.ByBoth,
				TestEvery: o.TestEvery, Negatives: o.Strategies}}}}
			all.Go(func() {
				errs[i] = q.trial(ctx, order, func(e run.Epoch) { onEpoch(o.Dir, seed, e) })
			})
		}
		all.Wait()
		return errors.Join(errs...)
	}
}

// trial waits for one order.
func (q *Queue) trial(ctx context.Context, o study.Order, onEpoch func(run.Epoch)) (err error) {
	var failed error
	err = q.order(ctx, o, func(n study.News) {
		switch {
		case n.Epoch != nil:
			onEpoch(*n.Epoch)
		case n.Stopped:
			failed = context.Cause(ctx)
		case n.Diverged:
			failed = diverged(n.Error)
		case n.Error != "":
			failed = errors.New(n.Error)
		}
	})
	return errors.Join(err, failed)
}
