package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
	"github.com/dygmamba/dygmamba/tensor"
)

// Remembered is what a model that remembers knows of the first events of its past, so that another process can go on
// from there with the same weights.
type Remembered struct {
	Events int        // whole units of them
	Latest event.Time // of these
	State  []tensor.Named
}

// Remembers says whether the model remembers events, rather than looking them up.
func (p *Predictor) Remembers() bool { return p.stream != nil }

// Reached is the time of the latest event that the model remembers; −Inf if it remembers none, or looks them up. A
// query about an earlier time makes it begin again.
func (p *Predictor) Reached() event.Time {
	if s := p.stream; s != nil && s.seen > 0 {
		return s.latest
	}
	return math.Inf(-1)
}

// Derives says whether the model keeps state over the events, which CatchUp brings up to date.
func (p *Predictor) Derives() bool {
	if p.stream != nil {
		return true
	}
	for _, e := range p.model.Plan().Extras {
		if _, warms := e.(sample.Warmer); warms {
			return true
		}
	}
	return false
}

// warmUnit is how many events a unit has for a model that derives state from the events: a query that comes meanwhile
// waits for one, less than a millisecond.
const warmUnit = 64

// CatchUp lets a model that remembers learn of at most this many more units of the events that it may know, so that
// queries need not wait for that; and likewise one that derives state from the events. It says how many events are
// left.
func (p *Predictor) CatchUp(ctx context.Context, units int) (left int, err error) {
	s := p.stream
	if s == nil {
		return p.warmUp(ctx, units*warmUnit)
	}
	all := s.whole(s.log.Len())
	next := max(s.seen, 0)/s.pass.BatchSize*s.pass.BatchSize + units*s.pass.BatchSize
	if !s.mine {
		next = units * s.pass.BatchSize
	}
	if s.mine && s.seen >= all {
		return 0, nil
	}
	if err := s.reach(ctx, min(next, all)); err != nil {
		return 0, fmt.Errorf("catch up: %w", err)
	}
	return all - s.seen, nil
}

// warmUp lets derived state go on by at most about this many events.
func (p *Predictor) warmUp(ctx context.Context, events int) (left int, err error) {
	threads := cmp.Or(p.options.Threads, runtime.GOMAXPROCS(0))
	if events <= warmUnit {
		threads = 1 // several would gain little, and keep the others from answering
	}
	for _, e := range p.model.Plan().Extras {
		if w, ok := e.(sample.Warmer); ok && ctx.Err() == nil {
			left = max(left, w.Warm(p.view(), events, threads))
		}
	}
	return left, ctx.Err()
}

// Ready says whether a question about the end of a view need not wait until state that the model derives from the
// events has gone back far, for events that came late.
func (p *Predictor) Ready(m *PastView) bool {
	for _, e := range p.model.Plan().Extras {
		if w, ok := e.(sample.Warmer); ok && !w.Ready(m.view) {
			return false
		}
	}
	return true
}

// Derived is the same for predictors that share the state that they derive from the events; nil: there is none.
func (p *Predictor) Derived() any {
	for _, e := range p.model.Plan().Extras {
		if w, ok := e.(sample.Warmer); ok {
			return w.Derived()
		}
	}
	return nil
}

// Remembered is what the model knows now; false if it remembers nothing that could be taken up again.
func (p *Predictor) Remembered() (r Remembered, ok bool, err error) {
	s := p.stream
	if s == nil || !s.mine || s.seen <= 0 {
		return r, false, nil
	}
	if s.short { // what was known before the unit that is not whole
		r = Remembered{Events: s.seen - s.seen%s.pass.BatchSize, State: s.before}
	} else if r.State, err = s.memory.Snapshot(); err != nil {
		return r, false, err
	} else {
		r.Events = s.seen
	}
	r.Latest = math.Inf(-1)
	if r.Events > 0 {
		r.Latest = slices.Max(s.log.Span(0, r.Events).Time)
	}
	return r, r.Events > 0, nil
}

// Recall takes up what another predictor with the same weights remembered of the same events, or derived from them.
func (p *Predictor) Recall(r Remembered) error {
	s := p.stream
	switch {
	case s == nil:
		return p.recallDerived(r)
	case s.log == nil || r.Events < 0 || r.Events > s.log.Len() || r.Events%s.pass.BatchSize != 0:
		return fmt.Errorf("recall: a memory of %d events, must be of whole units of %d among those that are there",
			r.Events, s.pass.BatchSize)
	}
	if err := s.take(); err != nil {
		return err
	}
	s.lose()
	if r.Events == 0 {
		return nil
	}
	if err := s.memory.Restore(r.State); err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	s.seen, s.latest = r.Events, slices.Max(s.log.Span(0, r.Events).Time)
	return nil
}

// take gives the memory to queries.
func (s *stream) take() (err error) {
	if s.mine {
		return nil
	}
	if s.others, err = s.memory.Snapshot(); err != nil {
		return err
	}
	s.mine = true
	s.lose()
	return nil
}

// give gives the memory to evaluations.
func (s *stream) give() error {
	if !s.mine {
		return nil
	}
	if err := s.memory.Restore(s.others); err != nil {
		return err
	}
	s.mine, s.others = false, nil
	return nil
}

// evaluated is a model that remembers, for an evaluation: it has the memory whenever it is used.
type evaluated struct {
	starter
	stream *stream
}

// starter is what a scorer of a model that remembers can do.
type starter interface {
	model.StatefulScorer
	replay.Starter
}

func (e evaluated) Score(b *sample.Batch, out []float32) error {
	if err := e.stream.give(); err != nil {
		return err
	}
	return e.starter.Score(b, out)
}

func (e evaluated) Start(b *sample.Batch, out []float32) error {
	if err := e.stream.give(); err != nil {
		return err
	}
	return e.starter.Start(b, out)
}

func (e evaluated) Commit(b *sample.Batch) error {
	if err := e.stream.give(); err != nil {
		return err
	}
	return e.starter.Commit(b)
}

func (e evaluated) Snapshot() ([]tensor.Named, error) {
	if err := e.stream.give(); err != nil {
		return nil, err
	}
	return e.starter.Snapshot()
}

func (e evaluated) Restore(list []tensor.Named) error {
	if err := e.stream.give(); err != nil {
		return err
	}
	return e.starter.Restore(list)
}
