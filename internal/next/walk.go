package next

import (
	"context"

	"github.com/dygmamba/dygmamba/event"
)

// Walk goes through events in the order of time and counts them.
type Walk struct {
	events event.Span
	setup  Setup
	counts *Counts
	done   int // events that are counted
}

// NewWalk begins before the first event.
func NewWalk(events event.Span, setup Setup) *Walk {
	return &Walk{events: events, setup: setup, counts: NewCounts(setup)}
}

// Follow replaces the events. Where they go on after those that were there, what is counted stays.
func (w *Walk) Follow(events event.Span, goesOn bool) {
	if w.events = events; !goesOn {
		w.counts, w.done = NewCounts(w.setup), 0
	}
}

// reach goes through the events before a time, as Before does, unless it is stopped on the way.
func (w *Walk) reach(t event.Time, stopped func() bool) bool {
	const some = 1 << 12 // events, which take a few milliseconds
	for i := w.done + some; i < w.events.Len() && w.events.Time[i] < t; i += some {
		if stopped() {
			return false
		}
		w.Before(w.events.Time[i])
	}
	return true
}

// Before is what is known strictly before a time. A time earlier than that of the last call starts over, so ask in
// the order of time. The counts are valid until the next call.
func (w *Walk) Before(t event.Time) *Counts {
	counts, _ := w.Reach(context.Background(), t)
	return counts
}

// Reach is Before for a time that may be millions of events away: it ends with an error when ctx does.
func (w *Walk) Reach(ctx context.Context, t event.Time) (*Counts, error) {
	if w.done > 0 && w.events.Time[w.done-1] >= t {
		w.counts, w.done = NewCounts(w.setup), 0
	}
	for ; w.done < w.events.Len() && w.events.Time[w.done] < t; w.done++ {
		if w.done%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.counts.Add(w.events.Src[w.done], w.events.Dst[w.done], w.events.Time[w.done])
	}
	return w.counts, nil
}
