package walk

import (
	"maps"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
)

// Fork is the same past for another goroutine. The two share pages until one of them writes, so that one can tell what
// was, while the other goes back for late events.
func (p *Past) Fork() *Past {
	p.Run()
	f := *p
	f.order, f.kept, f.recent = slices.Clone(p.order), slices.Clone(p.kept), slices.Clone(p.recent)
	f.out.table, f.out.far = slices.Clone(p.out.table), maps.Clone(p.out.far)
	f.work = [2][]event.Node{}
	f.now.state = p.now.state.clone()
	if p.soon.state != nil {
		f.soon.state = p.soon.state.clone()
	}
	return &f
}

// Behind is how many events At has to go through for the end of a log that continues the one so far. Late says that it
// has to go back for that: some of the events that came are earlier than those that it knows.
func (p *Past) Behind(log *event.Log) (events int, late bool) {
	all := log.All()
	first := math.Inf(1)
	for _, t := range all.Time[p.taken:] {
		first = min(first, t)
	}
	known := max(p.next, p.soonAt)
	if p.soon.state == nil {
		known = p.next
	}
	if p.taken == 0 || known == 0 || first > p.time(known-1) {
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
	return all.Len() - max(from, p.base(p.first(p.taken))), true
}
