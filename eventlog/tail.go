package eventlog

import (
	"context"
	"slices"
	"sync"
)

// Tail is the end of a log, which followers wait for. It is for implementations. Its zero value is an empty log.
type Tail struct {
	mu      sync.Mutex // guards all below
	last    uint64
	ended   error // why nothing more will come
	waiting []waiter
}

// waiter waits for what comes after a sequence.
type waiter struct {
	after uint64
	woken chan struct{}
}

// Last is the last sequence.
func (t *Tail) Last() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Advance sets the last sequence and wakes those who wait for it.
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
		var woken chan struct{}
		t.mu.Lock()
		last, ended := t.last, t.ended
		if last <= after && ended == nil {
			woken = make(chan struct{})
			t.waiting = append(t.waiting, waiter{after, woken})
		}
		t.mu.Unlock()
		switch {
		case last > after:
			return last, nil
		case ended != nil:
			return 0, ended
		}
		select {
		case <-woken:
		case <-ctx.Done(): // wake removes it later
		}
	}
}

// wake is called with mu held.
func (t *Tail) wake() {
	t.waiting = slices.DeleteFunc(t.waiting, func(w waiter) bool {
		due := t.last > w.after || t.ended != nil
		if due {
			close(w.woken)
		}
		return due
	})
}

// Follow is that of a log whose read returns the next batches that end after a sequence and not after last. Batches
// that come with an error are handed out before Follow ends with it.
func (t *Tail) Follow(ctx context.Context, after uint64, read func(after, last uint64) ([]Batch, error),
	take func(Batch) error) error {
	for {
		if err := t.Err(); err != nil {
			return err
		}
		last, err := t.Wait(ctx, after)
		if err != nil {
			return err
		}
		batches, failed := read(after, last)
		for _, b := range batches {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := take(b); err != nil {
				return err
			}
			after = b.Last
		}
		if failed != nil {
			return failed
		}
	}
}

// FollowRemovals is that of a log whose read returns the removals after a number and up to another. The tail is one of
// removals.
func (t *Tail) FollowRemovals(ctx context.Context, after uint64, read func(after, last uint64) ([]Removal, error),
	take func(Removal) error) error {
	for {
		if err := t.Err(); err != nil {
			return err
		}
		last, err := t.Wait(ctx, after)
		if err != nil {
			return err
		}
		list, err := read(after, last)
		if err != nil {
			return err
		}
		for _, r := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := take(r); err != nil {
				return err
			}
			after = r.Number
		}
	}
}
