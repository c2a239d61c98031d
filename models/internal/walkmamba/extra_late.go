package walkmamba

import (
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/event"
)

// Late events change what all later states are. Those that are a little late are followed up where the state is. For
// others a fork of the states goes back to the nearest that is kept, and on from there, while the states so far still
// tell what was before these events came. When the fork has reached the end, it is the present.

const (
	// mostBack is how many events a question goes through again for late ones.
	mostBack = 1 << 8
	// leave is how long states of what was are kept after the last question.
	leave = time.Second
)

// present is the states that tell most of a log, of those that know no more; nil: there are none. The caller holds
// s.mu.
func (s *states) present(log *event.Log) (best *logged) {
	for _, k := range s.pasts {
		if !k.beside && log.Continues(k.log) && (best == nil || k.nearer(best)) {
			best = k
		}
	}
	return best
}

// has says whether some states are of a log as it is. The caller holds s.mu.
func (s *states) has(log *event.Log) bool {
	same := func(k *logged) bool { return k.log.Len() == log.Len() && k.log.Continues(log) }
	return slices.ContainsFunc(s.pasts, same)
}

// ready says whether a question about the end of a log can be answered without going back far.
func (s *states) ready(log *event.Log) bool {
	s.mu.Lock()
	k := s.present(log)
	s.mu.Unlock()
	if k == nil {
		return true // there is nothing that could answer instead
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return !k.far(log)
}

// far says whether states must go back far to tell what a log says that continues theirs. The caller holds both locks.
func (k *logged) far(log *event.Log) bool {
	if !log.Continues(k.log) {
		return false // it went on meanwhile
	}
	events, late := k.past.Behind(log)
	return late && events > mostBack
}

// fork makes states for a log beside those that would have to go back far, and forgets those that nobody needs any
// more.
func (s *states) fork(log *event.Log) {
	s.mu.Lock()
	s.pasts = slices.DeleteFunc(s.pasts, func(k *logged) bool {
		return k.told && !s.forking() && time.Since(k.asked) > leave
	})
	k := s.present(log)
	skip := k == nil || !log.Grows() || s.has(log)
	s.mu.Unlock()
	if skip {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !k.far(log) || s.has(log) {
		return
	}
	past := k.past.Fork(log)
	s.opened++
	s.pasts = slices.DeleteFunc(s.pasts, func(x *logged) bool { return x != k && (x.beside || x.told) })
	k.told = true
	s.pasts = append([]*logged{{log: log, past: past, number: s.opened, early: k.early, reached: k.early, beside: true,
		asked: time.Now()}, k}, slices.DeleteFunc(s.pasts, func(x *logged) bool { return x == k })...)
	s.pasts = s.pasts[:min(len(s.pasts), mostPasts)]
}

// forking says whether some states are on their way beside others. The caller holds s.mu.
func (s *states) forking() bool {
	return slices.ContainsFunc(s.pasts, func(k *logged) bool { return k.beside })
}

// done lets states that have reached the end of their log be the present.
func (s *states) done(k *logged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.beside = false
}
