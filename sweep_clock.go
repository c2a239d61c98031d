package dygmamba

import (
	"cmp"
	"time"

	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/run"
)

// sweepClock shares out the time of a sweep.
type sweepClock struct {
	deadline time.Time // zero: there is no limit
	began    time.Time
	epochs   int         // to come, if all trials that may go on do
	done     int         // since it began
	turn     int         // epochs of the trial under way
	planned  bool        // the first trial has said which parts of the events fit
	limits   eval.Limits // these
	seeds    []uint64
}

func newSweepClock(o *SweepOptions, s *run.Sweep) *sweepClock {
	c := &sweepClock{began: time.Now(), seeds: s.Seeds}
	if o.MaxTime > 0 {
		c.deadline = cmp.Or(o.Began, c.began).Add(o.MaxTime)
	}
	alive, before := len(s.Trials), 0
	for k, until := range s.Rungs {
		c.epochs += alive * (until - before)
		if before = until; k < len(s.Rungs)-1 {
			alive = (alive + 1) / 2
		}
	}
	for i := range s.Trials {
		c.epochs -= min(c.epochs, s.Trials[i].Epochs()) // those of a sweep that goes on
	}
	return c
}

// left is about how long the rest takes: as long as the epochs so far say, or until the time is up.
func (c *sweepClock) left() time.Duration {
	c.done, c.epochs, c.turn = c.done+c.turn, max(0, c.epochs-c.turn), 0
	if c.done == 0 {
		if c.deadline.IsZero() {
			return 0
		}
		return time.Until(c.deadline)
	}
	rest := time.Since(c.began) / time.Duration(c.done) * time.Duration(c.epochs)
	if !c.deadline.IsZero() {
		rest = min(rest, time.Until(c.deadline))
	}
	return rest
}

// limit gives a trial its share of the time for some epochs.
func (c *sweepClock) limit(o TrainOptions, epochs int) TrainOptions {
	c.left() // counts the trial before
	c.turn = max(1, epochs)
	o.Limits, o.planned, o.MaxTime = c.limits, c.planned, 0
	if c.deadline.IsZero() {
		return o
	}
	const forTest = 0.9 // the rest is for the test of the trial that is chosen
	share := forTest * float64(c.turn) / float64(max(c.turn, c.epochs))
	o.Began, o.MaxTime = time.Now(), max(time.Millisecond, time.Duration(share*float64(time.Until(c.deadline))))
	return o
}

// keepLimits lets all trials use the parts of the events that the first one had time for.
func (c *sweepClock) keepLimits(dir string) {
	if c.planned || c.deadline.IsZero() {
		return
	}
	if record, err := run.Open(run.SeedDir(dir, c.seeds[0])); err == nil {
		c.planned, c.limits = true, record.Config.Parts()
	}
}

// last gives the chosen trial all the time that is left.
func (c *sweepClock) last(o TrainOptions) TrainOptions {
	o.Limits, o.planned, o.MaxTime = c.limits, c.planned, 0
	if !c.deadline.IsZero() {
		o.Began, o.MaxTime = time.Now(), max(time.Millisecond, time.Until(c.deadline))
	}
	return o
}
