package serve

import (
	"context"
	"sync"

	"github.com/dygmamba/dygmamba/eventlog"
)

// Volatile is an event log in memory alone: what it acknowledged ends with the process. It forgets a batch once its one
// follower has taken it, and a key when a million others came after it.
type Volatile struct {
	mu     sync.Mutex // guards what follows
	last   uint64
	queue  []eventlog.Batch // not taken yet
	keys   map[string]eventlog.Receipt
	order  []string // of the keys, oldest first
	closed bool
	news   chan struct{} // has one element when something changed
}

// mostKeys is how many keys a volatile log remembers.
const mostKeys = 1 << 20

// NewVolatile makes an empty one.
func NewVolatile() *Volatile {
	return &Volatile{keys: map[string]eventlog.Receipt{}, news: make(chan struct{}, 1)}
}

// Append takes a batch.
func (v *Volatile) Append(ctx context.Context, key string, events []eventlog.Event) (eventlog.Receipt, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return eventlog.Receipt{}, eventlog.ErrClosed
	}
	if r, again := v.keys[key]; key != "" && again {
		r.Again = true
		return r, nil
	}
	v.last += uint64(len(events))
	r := eventlog.Receipt{Last: v.last, Accepted: len(events)}
	if len(events) > 0 {
		v.queue = append(v.queue, eventlog.Batch{Key: key, Last: v.last, Events: events})
	}
	if key != "" {
		v.keys[key] = r
		v.order = append(v.order, key)
		if len(v.order) > mostKeys {
			delete(v.keys, v.order[0])
			v.order = v.order[1:]
		}
	}
	v.tell()
	return r, nil
}

// tell wakes the follower.
func (v *Volatile) tell() {
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// Follow hands over what comes.
func (v *Volatile) Follow(ctx context.Context, _ uint64, take func(eventlog.Batch) error) error {
	for {
		v.mu.Lock()
		queue, closed := v.queue, v.closed
		v.queue = nil
		v.mu.Unlock()
		for _, b := range queue {
			if err := take(b); err != nil {
				return err
			}
		}
		if closed {
			return eventlog.ErrClosed
		}
		select {
		case <-v.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Last is the sequence of the last event.
func (v *Volatile) Last() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// Close ends it.
func (v *Volatile) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	v.tell()
	return nil
}
