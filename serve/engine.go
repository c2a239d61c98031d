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
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
)

// engine applies the events of the log to the past, in the log's order. Nothing else changes the past. Others read its
// states without locks.
type engine struct {
	log     eventlog.Log
	set     *dataset.Set
	kinds   map[string]event.Kind // of events; "" is 0
	columns *dataset.Encoder      // of raw columns of events; nil: there are none
	width   int                   // features of an event
	ids     *ids

	mu      sync.Mutex // held while events are applied, and while another epoch begins
	epoch   atomic.Pointer[epoch]
	tail    eventlog.Tail                   // of the events that are known; it ends when no more are applied
	applied func(before, after *state)      // called after every batch; nil, or set before the first
	due     func(*state) (event.Time, bool) // the cut to move to, while a server starts; nil afterwards; mu guards it
	refused sync.Map                        // last sequences of batches with a known id, until their sender knows
}

// epoch is a past of selected events. When the cut moves, or events are removed, another epoch takes over, and this one
// stays as it is. An epoch never had what it leaves out: also its nodes are numbered without.
type epoch struct {
	selection
	names   *names
	past    *predict.Past
	places  places       // only the goroutine that adds events uses it
	targets idset.Set    // nodes that were a destination
	shared  model.Shared // what models derive from the events
	state   atomic.Pointer[state]

	followers sync.Map // *follower by what the models of lanes share

	renumbered []event.Node // by the number of a node in the epoch before; only while this one is made of that one
}

// state is what the server knows after one batch. It never changes. Targets are the nodes that were a destination, each
// once, in the order in which they first were.
type state struct {
	*predict.PastView
	Last    uint64
	places  places
	targets []event.Node
	at      time.Time // when it was made
	epoch   *epoch
}

func newEngine(set *dataset.Set, log eventlog.Log) *engine {
	e := &engine{log: log, set: set, kinds: map[string]event.Kind{"": 0}, width: set.Edge.Cols,
		ids: newIDs(), columns: set.Encoder()}
	for i, name := range set.Kinds {
		e.kinds[name] = event.Kind(i + 1)
	}
	e.begin(selection{cut: math.Inf(-1)}, 0)
	return e
}

// begin makes the selected events of the data set the whole past, as after a sequence.
func (e *engine) begin(which selection, last uint64) {
	e.epoch.Store(newEpoch(e.set, which, last, time.Now()))
	e.tail.Advance(last)
}

// newEpoch begins with the selected events of a data set.
func newEpoch(set *dataset.Set, which selection, last uint64, at time.Time) *epoch {
	ep := &epoch{selection: which, names: newNames(set, which.nodes)}
	if which.all() {
		ep.past = predict.NewPast(set)
	} else {
		ep.past = predict.NewPastOf(set, which.keeps(set))
	}
	s := &state{PastView: ep.past.Now(), Last: last, at: at, epoch: ep}
	s.targets = ep.noteTargets(nil, s.Events())
	ep.state.Store(s)
	return ep
}

func (ep *epoch) now() *state { return ep.state.Load() }

func (e *engine) now() *state { return e.epoch.Load().now() }

// names are those of the present epoch.
func (e *engine) names() *names { return e.epoch.Load().names }

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
		log.Warn("the event log cannot be reached: "+err.Error(), "retry_seconds", pause.Seconds())
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
	first := b.Last - uint64(len(list)) + 1
	if !e.ids.add(list, first, ep.cut) { // another server took an event with the same id at the same time
		list = nil
		e.refused.Store(b.Last, true)
	}
	events, features := make([]event.Event, 0, len(list)), [][]float32(nil)
	for i, x := range list {
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
		ep.places = ep.places.add(before.Len()-before.Known()+len(events), first+uint64(i))
		events = append(events, event.Event{Src: ep.names.add(x.Src, true), Dst: ep.names.add(x.Dst, false),
			Time: x.Time, Label: float32(x.Label), Kind: kind})
	}
	if err := ep.past.Add(events, features); err != nil {
		return fmt.Errorf("%w: batch %d … %d does not fit this data set: %v; want the log that belongs to it",
			eventlog.ErrDamaged, b.Last-uint64(len(b.Events))+1, b.Last, err)
	}
	after := ep.advance(b.Last, time.Now())
	if e.due != nil {
		if cut, move := e.due(after); move {
			e.cutAt(cut)
		}
	}
	e.tail.Advance(b.Last)
	if e.applied != nil {
		e.applied(before, after)
	}
	return nil
}

// cutAt begins another epoch with the events after a cut. It is called with mu held, before there are models.
func (e *engine) cutAt(cut event.Time) {
	was := e.now()
	which := was.epoch.selection
	which.cut = cut
	ep := newEpoch(e.set, which, was.Last, was.at)
	ep.takeFrom(was, was.Known())
	e.epoch.Store(ep)
	e.keepIDs()
}

// keepIDs forgets ids of events that are not known any more.
func (e *engine) keepIDs() {
	now := e.now()
	e.ids.keep(func(sequence uint64) bool {
		_, known := now.places.find(sequence, now.Len()-now.Known())
		return known
	})
}

// advance makes the past, as it is now, the latest state of the epoch.
func (ep *epoch) advance(last uint64, at time.Time) *state {
	before, after := ep.now(), &state{PastView: ep.past.Now(), Last: last, places: ep.places, at: at, epoch: ep}
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
func (e *engine) ingest(ctx context.Context, key string, events []eventlog.Event) (r eventlog.Receipt, err error) {
	if err := e.tail.Err(); err != nil {
		return r, err
	}
	release, taken := e.ids.reserve(events)
	defer release()
	if taken >= 0 {
		if r, err = e.given(ctx, key); err != nil || r.Again { // the same request may have brought them
			return r, err
		}
		return r, errIDTaken(events[taken].ID)
	}
	r, err = e.log.Append(ctx, key, events)
	if err != nil {
		return r, err
	}
	e.wait(ctx, r.Last) // its error does not matter: the events are durable
	if _, refused := e.refused.LoadAndDelete(r.Last); refused && !r.Again {
		list := make([]uint64, len(events))
		for i := range list {
			list[i] = r.Last - uint64(len(events)-1-i)
		}
		_, err = e.log.Remove(context.WithoutCancel(ctx), eventlog.Removal{Sequences: list})
		return r, errors.Join(err, errIDTaken(""))
	}
	return r, nil
}

// given is what was answered to a key, if it is known: then Again is true.
func (e *engine) given(ctx context.Context, key string) (eventlog.Receipt, error) {
	if key == "" {
		return eventlog.Receipt{}, nil
	}
	return e.log.Append(ctx, key, nil)
}

// errIDTaken says that an event with this id is known.
func errIDTaken(id string) error {
	if id == "" {
		return fail("conflict", "the id of an event was used at the same time by another; nothing was taken")
	}
	return fail("conflict", "an event with the id %q is known; nothing was taken", clip(plainID(id)))
}

// wait returns when the event of a sequence is known.
func (e *engine) wait(ctx context.Context, sequence uint64) error {
	if e.now().Last >= sequence {
		return nil
	}
	_, err := e.tail.Wait(ctx, sequence-1)
	return err
}
