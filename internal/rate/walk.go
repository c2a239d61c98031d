package rate

import "github.com/dygmamba/dygmamba/event"

// Walk goes through events in the order of time.
type Walk struct {
	events event.Span
	clock  Clock
	state  *State
}

// NewWalk begins before the first event.
func NewWalk(events event.Span, c Clock) *Walk { return &Walk{events, c, NewState(c)} }

// Follow replaces the events. Where they go on after those that were there, what is known stays.
func (w *Walk) Follow(events event.Span, goesOn bool) {
	if w.events = events; !goesOn {
		w.state = NewState(w.clock)
	}
}

// Before is what is known strictly before a time. A time earlier than that of the last call starts over, so ask in the
// order of time. The state is valid until the next call.
func (w *Walk) Before(t event.Time) *State {
	if w.state.Last() >= t {
		w.state = NewState(w.clock)
	}
	for i := w.state.Len(); i < w.events.Len() && w.events.Time[i] < t; i++ {
		w.state.Add(w.events.Src[i], w.events.Dst[i], w.events.Time[i])
	}
	return w.state
}
