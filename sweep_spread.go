package dygmamba

import (
	"context"
	"fmt"
	"sync"

	"github.com/dygmamba/dygmamba/run"
)

// launch lets others train the trials of a round that are not there yet, all at once. It returns what came of each, by
// its number: errors that end a trial and let others go on. Any other error ends the sweep.
func launch(ctx context.Context, s *run.Sweep, o *SweepOptions, trials []int, until int) (map[int]error, error) {
	if o.Launch == nil {
		return nil, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	var mu sync.Mutex // guards ended and first
	ended, first := map[int]error{}, error(nil)
	for _, i := range trials {
		t := s.Trials[i]
		if reached(&t, until, len(s.Seeds)) {
			continue
		}
		one := o.of(t)
		one.Until = until
		all.Go(func() {
			err := o.Launch(ctx, one)
			mu.Lock()
			defer mu.Unlock()
			if ended[i] = err; err != nil && !hopeless(err) && first == nil {
				first = fmt.Errorf("%s: %w", t.Name, err)
				stop() // the others keep what was done
			}
		})
	}
	all.Wait()
	return ended, first
}

// trainPart trains some of the trials to their end, and leaves the choice to a sweep of all.
func (o *SweepOptions) trainPart(ctx context.Context, s *run.Sweep) error {
	until := s.Rungs[len(s.Rungs)-1]
	for i, t := range s.Trials {
		if i%o.Parts != o.Part {
			continue
		}
		if o.OnTrial != nil {
			o.OnTrial(t, until)
		}
		one := o.of(t)
		one.Until = until
		if _, err := Train(ctx, one); err != nil && !hopeless(err) {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	return nil
}
