package rate

import (
	"context"
	"math"
	"sort"

	"github.com/dygmamba/dygmamba/event"
)

// Walk goes through events in the order of time.
type Walk struct {
	events event.Span
	model  *Model
	state  *State
	from   event.Time // from when on the drift of rates is looked at
	points *points
	drifts []Drift // corrections of rates that are tracked
	x      []float32
}

// NewWalk begins before the first event.
func NewWalk(events event.Span, m *Model) *Walk { return newWalk(events, m, m.Drift) }

func newWalk(events event.Span, m *Model, drifts ...Drift) *Walk {
	w := &Walk{events: events, model: m, drifts: drifts}
	w.restart()
	return w
}

// Follow replaces the events. Where they go on after those that were there, what is known stays.
func (w *Walk) Follow(events event.Span, goesOn bool) {
	if w.events = events; !goesOn {
		w.restart()
	}
}

func (w *Walk) restart() {
	w.state, w.points = NewState(w.model.Clock), nil
	if w.model.tracks() && w.events.Len() > 0 {
		w.from = w.events.Time[0] + w.state.clock.Span
		w.points = newPoints(w.state.clock, 1, 0, driftKey)
	}
	w.state.drift = newDrift(w.drifts...)
}

// Before is what is known strictly before a time. A time earlier than that of the last call starts over, so ask in the
// order of time. The state is valid until the next call.
func (w *Walk) Before(t event.Time) *State {
	s, _ := w.Reach(context.Background(), t)
	return s
}

// Reach is Before for a time that may be millions of events away: it ends with an error when ctx does.
func (w *Walk) Reach(ctx context.Context, t event.Time) (*State, error) {
	if w.state.Last() >= t {
		w.restart()
	}
	for i := w.state.Len(); i < w.events.Len() && w.events.Time[i] < t; i++ {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.add(w.events.Src[i], w.events.Dst[i], w.events.Time[i])
	}
	return w.state, nil
}

// GoOn learns of at most this many more events towards the end, and says how many are left. Those of the last instant
// wait for a question about a later time, as others of that instant may come.
func (w *Walk) GoOn(most int) (left int) {
	n := w.events.Len()
	if n == 0 {
		return 0
	}
	last := w.events.Time[n-1]
	for i := w.state.Len(); i < n && most > 0 && w.events.Time[i] < last; i++ {
		w.add(w.events.Src[i], w.events.Dst[i], w.events.Time[i])
		most--
	}
	done := w.state.Len()
	return sort.Search(n-done, func(i int) bool { return w.events.Time[done+i] >= last })
}

// add learns of an event: of the silence before it first.
func (w *Walk) add(u, v event.Node, t event.Time) {
	s := w.state
	if w.points == nil && w.model.tracks() && s.events == 0 { // there were no events when it began
		w.from, w.points = t+s.clock.Span, newPoints(s.clock, 1, 0, driftKey)
	}
	switch {
	case w.points == nil:
	case t < w.from:
		w.points.note(u, t)
	default:
		if s.drift.seen == 0 { // the more points, the fewer events there are
			widest := s.clock.widestPiece(s.known, s.clock.Span, driftMost)
			w.points.cut(max(1, min(24, driftPoints/(1+s.events))), widest)
			w.points.begin(w.from)
		}
		w.look(u, t)
		w.points.act(u, t)
	}
	s.Add(u, v, t)
}

// look compares what was expected up to an event with what happened. The state is that before the last point.
func (w *Walk) look(u event.Node, t event.Time) {
	s := w.state
	for p, ok := w.points.next(t); ok; p, ok = w.points.next(t) {
		if p.At < w.from || p.At <= s.last {
			continue
		}
		expected := p.Weight*s.likely(p.Src, p.At)*s.rarity(p.At) + 1e-3
		q := min(1, expected*min(driftEach, max(driftLeast, driftRows/(1+s.perSpan(p.At)))))
		if unit(mix(mix(driftKey, math.Float64bits(p.At)), uint64(p.Src))) < q {
			w.x = s.Features(w.x[:0], p.Src, p.At, 0)
			log := s.Offset(p.Src, p.At, 0) + w.model.Now.At(w.x)
			s.drift.expect(s.clock, p.At, p.Weight/q, log)
		}
	}
	s.drift.seen++
	if s.Count(u) > 0 {
		s.drift.observe(s.clock, t)
	}
	s.drift.show()
}
