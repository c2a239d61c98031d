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

// engine applies the events of the log to the past, in the log's order. Nothing else changes the past. Others read its
// states without locks.
type engine struct {
	log   eventlog.Log
	names *names
	past  *predict.Past
	width int // features of an event

	targets idset.Set // nodes that were a destination
	state   atomic.Pointer[state]
	applied func(before, after *state) // called after every batch; nil, or set before the first

	mu      sync.Mutex // guards what follows
	waiting []waiter
	failed  error // why no more events are applied; nil while they are
}

// state is what the server knows after one batch. It never changes. Targets are the nodes that were a destination, each
// once, in the order in which they first were.
type state struct {
	*predict.PastView
	Last    uint64
	targets []event.Node
	at      time.Time // when it was made
}

// waiter waits until the event of a sequence is known.
type waiter struct {
	sequence uint64
	done     chan error
}

func newEngine(set *dataset.Set, log eventlog.Log) *engine {
	e := &engine{log: log, names: newNames(set), past: predict.NewPast(set), width: set.Edge.Cols}
	s := &state{PastView: e.past.Now(), at: time.Now()}
	s.targets = e.noteTargets(nil, s.Events())
	e.state.Store(s)
	return e
}

// now is the latest state.
func (e *engine) now() *state { return e.state.Load() }

// follow applies the log's events until ctx ends or one cannot be applied. It waits for a log that cannot be reached.
func (e *engine) follow(ctx context.Context, log *slog.Logger) {
	pause := 50 * time.Millisecond
	for {
		was := e.now().Last
		err := e.log.Follow(ctx, was, e.apply)
		switch {
		case ctx.Err() != nil:
			e.fail(fmt.Errorf("%w: the server stops", eventlog.ErrClosed))
			return
		case err == nil:
			err = errors.New("the event log ended")
		}
		if !errors.Is(err, eventlog.ErrAway) {
			log.Error("the server takes no more events: " + err.Error())
			e.fail(err)
			return
		}
		if e.now().Last > was {
			pause = 50 * time.Millisecond
		}
		log.Warn("the event log cannot be reached: "+err.Error(), "retry_in", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// apply adds a batch to the past. Events that are known already are skipped.
func (e *engine) apply(b eventlog.Batch) error {
	before := e.now()
	list := b.Events
	if first := b.Last - uint64(len(list)) + 1; first <= before.Last {
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
		events[i] = event.Event{Src: e.names.add(x.Src, true), Dst: e.names.add(x.Dst, false), Time: x.Time,
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
	after := &state{PastView: now, Last: b.Last, at: time.Now()}
	after.targets = e.noteTargets(before.targets, now.Events().Slice(before.Len(), now.Len()))
	e.state.Store(after)
	e.wake(b.Last)
	if e.applied != nil {
		e.applied(before, after)
	}
	return nil
}

// noteTargets appends new destinations.
func (e *engine) noteTargets(list []event.Node, events event.Span) []event.Node {
	for _, n := range events.Dst {
		if e.targets.Add(n) {
			list = append(list, n)
		}
	}
	return list
}

// ingest appends events to the log. It returns when they are durable and known. Key may be empty.
func (e *engine) ingest(ctx context.Context, key string, events []eventlog.Event) (eventlog.Receipt, error) {
	if err := e.failure(); err != nil {
		return eventlog.Receipt{}, err
	}
	r, err := e.log.Append(ctx, key, events)
	if err != nil {
		return r, err
	}
	e.wait(ctx, r.Last) // its error does not matter: the events are durable
	return r, nil
}

// wait returns when the event of a sequence is known.
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
		return ctx.Err() // wake removes it later
	}
}

// wake answers those who wait for events up to a sequence.
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

// fail records why no more events are applied, and answers all who wait.
func (e *engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = err
	for _, w := range e.waiting {
		w.done <- err
	}
	e.waiting = nil
}

// failure is why no more events are applied, nil while they are.
func (e *engine) failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}
