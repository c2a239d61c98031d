package eventlog

import (
	"context"
	"sync"
)

// Tail is the end of a log, which followers wait for. It is for implementations. Its zero value is an empty log.
type Tail struct {
	mu      sync.Mutex // guards all below
	last    uint64
	ended   error         // why nothing more will come
	changed chan struct{} // closed when either changes; nil while nobody waits
}

// Last is the last sequence.
func (t *Tail) Last() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Advance sets the last sequence and wakes those who wait.
func (t *Tail) Advance(last uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = last
	t.wake()
}

// End says why no more events will come, and wakes those who wait. The first reason stays.
func (t *Tail) End(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == nil {
		t.ended = why
		t.wake()
	}
}

// Err is why the log ended, or nil.
func (t *Tail) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// Wait returns the last sequence as soon as it is greater than after, or why that will never happen.
func (t *Tail) Wait(ctx context.Context, after uint64) (uint64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		t.mu.Lock()
		last, ended := t.last, t.ended
		if last <= after && ended == nil && t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		switch {
		case last > after:
			return last, nil
		case ended != nil:
			return 0, ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// wake is called with mu held.
func (t *Tail) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}
