package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/idset"
	"github.com/dygmamba/dygmamba/predict"
)

// engine is what has happened: the one place where events of the log become a part of the past, in the log's order.
// Everybody else reads states of it, without waiting.
type engine struct {
	log   eventlog.Log
	names *names
	past  *predict.Past
	width int // features of an event

	targets idset.Set // that were a destination
	state   atomic.Pointer[state]
	applied func(before, after *state) // told of every batch that was taken; nil, or set before events come

	mu      sync.Mutex // guards what follows
	waiting []waiter
	failed  error // why no more events are taken
}

// state is what was known at one moment: the past, the sequence of the last event in it, and who was a destination,
// each
// once, in the order of their first time.
type state struct {
	*predict.Moment
	Last    uint64
	targets []event.Node
	at      time.Time // when it came to be
}

// waiter waits until an event is known.
type waiter struct {
	sequence uint64
	done     chan error
}

func newEngine(set *dataset.Set, log eventlog.Log) *engine {
	e := &engine{log: log, names: newNames(set), past: predict.NewPast(set), width: set.Edge.Cols}
	s := &state{Moment: e.past.Now(), at: time.Now()}
	s.targets = e.noteTargets(nil, s.Events())
	e.state.Store(s)
	return e
}

// now is what is known.
func (e *engine) now() *state { return e.state.Load() }

// follow takes the log's events until ctx ends or an event cannot be taken. A log that is away is asked again.
func (e *engine) follow(ctx context.Context, log *slog.Logger) {
	pause := 50 * time.Millisecond
	for {
		was := e.now().Last
		err := e.log.Follow(ctx, was, e.take)
		switch {
		case ctx.Err() != nil:
			e.fail(fmt.Errorf("%w: the server ends", eventlog.ErrClosed))
			return
		case err == nil:
			err = errors.New("the event log ended")
		}
		if !errors.Is(err, eventlog.ErrAway) {
			log.Error("no more events are taken: " + err.Error())
			e.fail(err)
			return
		}
		if e.now().Last > was {
			pause = 50 * time.Millisecond
		}
		log.Warn("the event log is away: "+err.Error(), "again_in", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// take makes a batch a part of the past.
func (e *engine) take(b eventlog.Batch) error {
	before := e.now()
	list := b.Events
	if first := b.Last - uint64(len(list)) + 1; first <= before.Last { // a part of it is known already
		if b.Last <= before.Last {
			return nil
		}
		list = list[before.Last-first+1:]
	}
	if len(list) == 0 {
		return nil
	}
	events, features := make([]event.Event, len(list)), [][]float32(nil)
	for i, x := range list {
		events[i] = event.Event{Src: e.names.take(x.Src, true), Dst: e.names.take(x.Dst, false), Time: x.Time,
			Label: float32(x.Label)}
		if x.Features != nil {
			if features == nil {
				features = make([][]float32, len(list))
			}
			features[i] = x.Features
		}
	}
	if err := e.past.Add(events, features); err != nil {
		return fmt.Errorf("%w: batch %d … %d does not fit this data set: %v; want the log that belongs to it",
			eventlog.ErrDamaged, b.Last-uint64(len(b.Events))+1, b.Last, err)
	}
	now := e.past.Now()
	after := &state{Moment: now, Last: b.Last, at: time.Now()}
	after.targets = e.noteTargets(before.targets, now.Events().Slice(before.Len(), now.Len()))
	e.state.Store(after)
	e.wake(b.Last)
	if e.applied != nil {
		e.applied(before, after)
	}
	return nil
}

// noteTargets appends the destinations that are new.
func (e *engine) noteTargets(list []event.Node, events event.Span) []event.Node {
	for _, n := range events.Dst {
		if e.targets.Add(n) {
			list = append(list, n)
		}
	}
	return list
}

// ingest puts events into the log, and returns when they are durable and known. Key may be empty.
func (e *engine) ingest(ctx context.Context, key string, events []eventlog.Event) (eventlog.Receipt, error) {
	if err := e.failure(); err != nil {
		return eventlog.Receipt{}, err
	}
	r, err := e.log.Append(ctx, key, events)
	if err != nil {
		return r, err
	}
	e.wait(ctx, r.Last) // durable is durable, whatever becomes of that
	return r, nil
}

// wait returns when an event is known.
func (e *engine) wait(ctx context.Context, sequence uint64) error {
	if e.now().Last >= sequence {
		return nil
	}
	w := waiter{sequence, make(chan error, 1)}
	e.mu.Lock()
	if e.failed != nil || e.now().Last >= sequence {
		defer e.mu.Unlock()
		return e.failed
	}
	e.waiting = append(e.waiting, w)
	e.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err() // its place is taken by the next that wakes
	}
}

// wake tells those who wait for events up to a sequence.
func (e *engine) wake(sequence uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rest := e.waiting[:0]
	for _, w := range e.waiting {
		if w.sequence <= sequence {
			w.done <- nil
		} else {
			rest = append(rest, w)
		}
	}
	clear(e.waiting[len(rest):])
	e.waiting = rest
}

// fail notes why no more events are taken, and tells all who wait.
func (e *engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = err
	for _, w := range e.waiting {
		w.done <- err
	}
	e.waiting = nil
}

// failure is why no more events are taken, nil while they are.
func (e *engine) failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}
