package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
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
	set   *dataset.Set
	names *names
	kinds map[string]event.Kind // of events; "" is 0
	width int                   // features of an event

	mu      sync.Mutex // held while events are applied, and while another epoch begins
	epoch   atomic.Pointer[epoch]
	tail    eventlog.Tail              // of the events that are known; it ends when no more are applied
	applied func(before, after *state) // called after every batch; nil, or set before the first
}

// epoch is a past that begins at a time. When the cut moves, another epoch takes over, and this one stays as it is.
type epoch struct {
	cut     event.Time // events before it are not known; −Inf: all are
	past    *predict.Past
	targets idset.Set // nodes that were a destination
	state   atomic.Pointer[state]
}

// state is what the server knows after one batch. It never changes. Targets are the nodes that were a destination, each
// once, in the order in which they first were.
type state struct {
	*predict.PastView
	Last    uint64
	targets []event.Node
	at      time.Time // when it was made
	epoch   *epoch
}

func newEngine(set *dataset.Set, log eventlog.Log) *engine {
	e := &engine{log: log, set: set, names: newNames(set), kinds: map[string]event.Kind{"": 0}, width: set.Edge.Cols}
	for i, name := range set.Kinds {
		e.kinds[name] = event.Kind(i + 1)
	}
	e.begin(math.Inf(-1), 0)
	return e
}

// begin makes the events of the data set that are not before a cut the whole past, as after a sequence.
func (e *engine) begin(cut event.Time, last uint64) {
	e.epoch.Store(newEpoch(cut, predict.NewPastFrom(e.set, cut), last, time.Now()))
	e.tail.Advance(last)
}

func newEpoch(cut event.Time, past *predict.Past, last uint64, at time.Time) *epoch {
	ep := &epoch{cut: cut, past: past}
	s := &state{PastView: past.Now(), Last: last, at: at, epoch: ep}
	s.targets = ep.noteTargets(nil, s.Events())
	ep.state.Store(s)
	return ep
}

func (ep *epoch) now() *state { return ep.state.Load() }

func (e *engine) now() *state { return e.epoch.Load().now() }

// follow applies the log's events until ctx ends or one cannot be applied. It waits for a log that cannot be reached.
func (e *engine) follow(ctx context.Context, log *slog.Logger) {
	pause := 50 * time.Millisecond
	for {
		was := e.now().Last
		err := e.log.Follow(ctx, was, e.apply)
		switch {
		case ctx.Err() != nil:
			e.tail.End(fmt.Errorf("%w: the server stops", eventlog.ErrClosed))
			return
		case err == nil:
			err = errors.New("the event log ended")
		}
		if !errors.Is(err, eventlog.ErrAway) {
			log.Error("the server takes no more events: " + err.Error())
			e.tail.End(err)
			return
		}
		if e.now().Last > was {
			pause = 50 * time.Millisecond
		}
		log.Warn("the event log cannot be reached: "+err.Error(), "retry_in", pause)
		sleep(ctx, pause)
		pause = min(2*pause, 5*time.Second)
	}
}

// sleep returns after a pause, or when ctx ends, and says which.
func sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// apply adds a batch to the past. Events that are known already are skipped, and those before the cut.
func (e *engine) apply(b eventlog.Batch) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	ep := e.epoch.Load()
	before := ep.now()
	list := b.Events
	if first := b.Last - uint64(len(list)) + 1; first <= before.Last {
		if b.Last <= before.Last {
			return nil
		}
		list = list[before.Last-first+1:]
	}
	events, features := make([]event.Event, 0, len(list)), [][]float32(nil)
	for _, x := range list {
		if x.Erased || x.Time < ep.cut {
			continue
		}
		if x.Features != nil && features == nil {
			features = make([][]float32, len(events), len(list))
		}
		if features != nil {
			features = append(features, x.Features)
		}
		kind, known := e.kinds[x.Kind]
		if !known {
			return fmt.Errorf("%w: batch %d … %d has an event of kind %q; want %s", eventlog.ErrDamaged,
				b.Last-uint64(len(b.Events))+1, b.Last, clip(x.Kind), e.set.WantKind())
		}
		events = append(events, event.Event{Src: e.names.add(x.Src, true), Dst: e.names.add(x.Dst, false), Time: x.Time,
			Label: float32(x.Label), Kind: kind})
	}
	if err := ep.past.Add(events, features); err != nil {
		return fmt.Errorf("%w: batch %d … %d does not fit this data set: %v; want the log that belongs to it",
			eventlog.ErrDamaged, b.Last-uint64(len(b.Events))+1, b.Last, err)
	}
	after := ep.advance(b.Last, time.Now())
	e.tail.Advance(b.Last)
	if e.applied != nil {
		e.applied(before, after)
	}
	return nil
}

// advance makes the past, as it is now, the latest state of the epoch.
func (ep *epoch) advance(last uint64, at time.Time) *state {
	before, after := ep.now(), &state{PastView: ep.past.Now(), Last: last, at: at, epoch: ep}
	after.targets = ep.noteTargets(before.targets, after.Events().Slice(before.Len(), after.Len()))
	ep.state.Store(after)
	return after
}

func (ep *epoch) noteTargets(list []event.Node, events event.Span) []event.Node {
	for _, n := range events.Dst {
		if ep.targets.Add(n) {
			list = append(list, n)
		}
	}
	return list
}

// ingest appends events to the log. It returns when they are durable and known. Key may be empty.
func (e *engine) ingest(ctx context.Context, key string, events []eventlog.Event) (eventlog.Receipt, error) {
	if err := e.tail.Err(); err != nil {
		return eventlog.Receipt{}, err
	}
	r, err := e.log.Append(ctx, key, events)
	if err == nil {
		e.wait(ctx, r.Last) // its error does not matter: the events are durable
	}
	return r, err
}

// wait returns when the event of a sequence is known.
func (e *engine) wait(ctx context.Context, sequence uint64) error {
	if e.now().Last >= sequence {
		return nil
	}
	_, err := e.tail.Wait(ctx, sequence-1)
	return err
}
