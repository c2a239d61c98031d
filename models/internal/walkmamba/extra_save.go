package walkmamba

import (
	"math"

	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/walk"
	"github.com/dygmamba/dygmamba/sample"
)

var _ sample.Saver = (*extra)(nil)

// Save is the states of the present of a past.
func (e *extra) Save(past index.View) (events int, parts func() map[string][]byte, ok bool) {
	log, s := past.(index.Logged).Events(), e.states
	s.mu.Lock()
	k := s.present(log)
	s.mu.Unlock()
	if k == nil {
		return 0, nil, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	events, bytes := k.past.Save()
	return events, func() map[string][]byte { return bytes().Parts }, events > 0 && events <= log.Len()
}

// Recall makes saved states the present of a past, unless there are some.
func (e *extra) Recall(past index.View, events int, parts map[string][]byte) error {
	log, s := past.(index.Logged).Events(), e.states
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present(log) != nil {
		return nil
	}
	k := &logged{log: log, past: walk.Over(log, e.options), number: s.opened + 1, early: math.Inf(-1)}
	k.past.Live = log.Grows()
	if err := k.past.Recall(walk.Saved{Events: events, Parts: parts}); err != nil {
		return err
	}
	s.opened++
	k.early, k.reached, k.bytes = k.past.TimeOf(farBack), k.past.TimeOf(1), k.past.Bytes()
	s.pasts = append([]*logged{k}, s.pasts[:min(len(s.pasts), mostPasts-1)]...)
	return nil
}
