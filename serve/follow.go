package serve

import (
	"context"
	"sync"
	"time"
)

// follower chooses the states at which lanes answer that derive something from the events and share it. Usually that is
// the latest. Events that come very late make what is derived go back far. Until that is done, beside what is there,
// questions are answered at the state before: as_of says so, and min_as_of waits.
type follower struct {
	work sync.Mutex // held by the lane that lets what is derived go on

	mu     sync.Mutex // guards what follows
	ready  *state     // what is derived of it is there
	next   *state     // it is on its way for this one; nil: none is
	began  time.Time  // … since then
	pause  time.Time  // the next one begins not before
	asking map[*lane]*state
}

// restShare is how much longer than it took to go back the next time is waited for, so that questions have the
// processor most of the time; leastRest is how long at least.
const (
	restShare = 1
	leastRest = 100 * time.Millisecond
)

// follower is that of lanes which share what a value stands for.
func (ep *epoch) follower(of any) *follower {
	f, _ := ep.followers.LoadOrStore(of, &follower{asking: map[*lane]*state{}})
	return f.(*follower)
}

// choose is the state at which a lane answers, at least that of a sequence.
func (f *follower) choose(l *lane, least uint64) *state {
	now := l.epoch.now()
	ready := l.predictor.Ready(now.PastView)
	f.mu.Lock()
	defer f.mu.Unlock()
	if ready || f.ready == nil || f.ready.Last < least {
		f.note(now)
		f.asking[l] = now
		return now
	}
	f.asking[l] = f.ready
	return f.ready
}

// note notes that questions can be answered at a state. It is called with mu held.
func (f *follower) note(s *state) {
	if f.ready == nil || s.Last > f.ready.Last {
		f.ready = s
	}
}

// answered notes that a lane asks no more about its state.
func (f *follower) answered(l *lane) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.asking, l)
}

// target is the state that what is derived goes on to next, and whether it does so beside what is there; nil: to none
// yet.
func (f *follower) target(l *lane) (s *state, beside bool) {
	now := l.epoch.now()
	ready := l.predictor.Ready(now.PastView)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.next != nil:
		return f.next, true
	case ready || f.ready == nil:
		return now, false
	case time.Now().Before(f.pause):
		return nil, false
	}
	for _, s := range f.asking {
		if s.Last < f.ready.Last {
			return nil, false // what it needs would be forgotten
		}
	}
	f.next, f.began = now, time.Now()
	return now, true
}

// reached notes that what is derived of a state is there.
func (f *follower) reached(s *state) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(s)
	if s == f.next {
		took := time.Since(f.began)
		f.next, f.pause = nil, time.Now().Add(max(leastRest, restShare*took))
	}
}

// await returns when a question can be answered that asks for a state of at least a sequence, which is known.
func (f *follower) await(ctx context.Context, l *lane, sequence uint64) error {
	for {
		ready := l.predictor.Ready(l.epoch.now().PastView)
		f.mu.Lock()
		ready = ready || f.ready == nil || f.ready.Last >= sequence
		f.mu.Unlock()
		if ready {
			return nil
		}
		if !sleep(ctx, 2*time.Millisecond) {
			return ctx.Err()
		}
	}
}
