package eventlog

import (
	"context"
	"sync"
)

// Tail is the end of a log that others wait for, for engines. Its zero value is an empty log.
type Tail struct {
	mu      sync.Mutex // guards all below
	last    uint64
	ended   error         // why nothing more will come
	changed chan struct{} // closed when either changes; nil while nobody waits
}

// Last is the sequence that was reached.
func (t *Tail) Last() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Advance tells those who wait that a sequence was reached.
func (t *Tail) Advance(last uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = last
	t.wake()
}

// End tells those who wait that nothing more will come, and why. The first reason stays.
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

// Wait returns the last sequence as soon as it lies after one, or why it never will. What was reached before the end
// is still there.
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
