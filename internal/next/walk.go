package next

import (
	"context"
	"sort"

	"github.com/dygmamba/dygmamba/event"
)

// Walk goes through events in the order of time and counts them.
//
// With a window it counts only the latest events: from Window to twice as many, so that memory and the time to answer
// do not grow with the stream. The counts begin anew at every multiple of Window, from one window before it, so that
// they follow from the events before the question alone, wherever a walk came from.
type Walk struct {
	events event.Span
	setup  Setup
	counts *Counts
	from   int // the first event that is counted
	done   int // events that are counted, and those before from
}

// NewWalk begins before the first event.
func NewWalk(events event.Span, setup Setup) *Walk {
	return &Walk{events: events, setup: setup, counts: NewCounts(setup)}
}

// Follow replaces the events. Where they go on after those that were there, what is counted stays.
func (w *Walk) Follow(events event.Span, goesOn bool) {
	if w.events = events; !goesOn {
		w.begin(0)
	}
}

func (w *Walk) begin(from int) { w.counts, w.from, w.done = NewCounts(w.setup), from, from }

// start is the first event that is counted where this many events are before the question.
func (s Setup) start(before int) int {
	if s.Window <= 0 || before < 2*s.Window {
		return 0
	}
	return (before/s.Window - 1) * s.Window
}

// Before is what is known strictly before a time. A time earlier than that of the last call starts over, so ask in
// the order of time. The counts are valid until the next call.
func (w *Walk) Before(t event.Time) *Counts {
	counts, _ := w.Reach(context.Background(), t)
	return counts
}

// Reach is Before for a time that may be millions of events away: it ends with an error when ctx does.
func (w *Walk) Reach(ctx context.Context, t event.Time) (*Counts, error) {
	if !w.reach(t, func() bool { return ctx.Err() != nil }) {
		return nil, ctx.Err()
	}
	return w.counts, nil
}

// GoOn counts at most this many more events towards the end, and says how many are left. Those of the last instant wait
// for a question about a later time: others of that instant may come, and a question about it would begin again.
func (w *Walk) GoOn(most int) (left int) {
	end := w.events.Len()
	if end > 0 {
		end = max(w.done, w.before(w.events.Time[end-1]))
	}
	if from := w.setup.start(end); from != w.from {
		w.begin(from)
	}
	for range min(most, end-w.done) {
		w.counts.Add(w.events.Src[w.done], w.events.Dst[w.done], w.events.Time[w.done])
		w.done++
	}
	return end - w.done
}

// reach counts the events before a time, unless it is stopped on the way.
func (w *Walk) reach(t event.Time, stopped func() bool) bool {
	const some = 1 << 12 // events, which take a few milliseconds
	before := w.before(t)
	if from := w.setup.start(before); from != w.from || w.done > before {
		w.begin(from)
	}
	for ; w.done < before; w.done++ {
		if w.done%some == 0 && stopped() {
			return false
		}
		w.counts.Add(w.events.Src[w.done], w.events.Dst[w.done], w.events.Time[w.done])
	}
	return true
}

// before is how many events are before a time. It looks near the last answer first.
func (w *Walk) before(t event.Time) int {
	times, lo, hi := w.events.Time[:w.events.Len()], 0, w.events.Len()
	if w.done <= hi && (w.done == 0 || times[w.done-1] < t) {
		lo = w.done
		for step := 1; lo+step < hi; step *= 2 {
			if times[lo+step] >= t {
				hi = lo + step
				break
			}
		}
	}
	return lo + sort.Search(hi-lo, func(i int) bool { return times[lo+i] >= t })
}
