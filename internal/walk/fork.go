package walk

import (
	"math"
	"runtime"
	"slices"

	"github.com/dygmamba/dygmamba/event"
)

// Fork is the same past for another goroutine, with a log that continues the one so far. The two share pages until one
// of them writes, so that one can tell what was, while the other goes back for late events.
func (p *Past) Fork(log *event.Log) *Past {
	p.Run()
	copied := *p
	f := &copied
	f.log = log
	for _, s := range slices.Concat(p.kept, p.recent, []snapshot{p.near}) {
		s.lend()
	}
	f.kept, f.recent = slices.Clone(p.kept), slices.Clone(p.recent)
	f.places = &places{p.order.fork(), p.out.fork()}
	runtime.AddCleanup(f, (*places).release, f.places)
	f.work = [2][]event.Node{}
	f.now.state = p.now.state.clone()
	if p.soon.state != nil {
		f.soon.state = p.soon.state.clone()
	}
	return f
}

// Behind is how many events At has to go through for the end of a log that continues the one so far. Late says that it
// has to go back for that: some of the events that came are earlier than those that it knows.
func (p *Past) Behind(log *event.Log) (events int, late bool) {
	all, first := log.All(), p.firstOf(log)
	known := max(p.next, p.soonAt)
	if p.soon.state == nil {
		known = p.next
	}
	if p.order.n == 0 || known == 0 || first > p.time(known-1) {
		events = all.Len() - p.next
		if p.limits.warmUp > 0 { // otherwise it begins with the window
			events = min(events, p.limits.segment()+p.limits.warmUp)
		}
		return events, false
	}
	at := p.earlier(first)
	last, found := p.nearest(at)
	from := last.next
	if !found {
		from = p.base(p.first(at))
	}
	return all.Len() - max(from, p.base(p.first(p.order.n))), true
}

// firstOf is the earliest time of the events that a log has beside those so far, +Inf if there are none.
func (p *Past) firstOf(log *event.Log) event.Time {
	first := math.Inf(1)
	for _, t := range log.All().Time[p.order.n:] {
		first = min(first, t)
	}
	return first
}
