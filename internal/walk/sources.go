package walk

import "github.com/dygmamba/dygmamba/event"

// sources are those of events by edge id. Where ids are the places in the log, the log tells them; otherwise a table
// does while ids are about as many as events, which is usual.
type sources struct {
	noted int // events of the log
	table []event.Node
	far   map[event.Edge]event.Node
}

// note enters an event; of several with one id the first counts.
func (s *sources) note(e event.Edge, src event.Node, events int) {
	if int(e) > 4*events+1024 {
		if s.far == nil {
			s.far = map[event.Edge]event.Node{}
		}
		if _, there := s.far[e]; !there {
			s.far[e] = src
		}
		return
	}
	if more := int(e) + 1 - len(s.table); more > 0 {
		s.table = append(s.table, make([]event.Node, more)...)
	}
	if s.table[e] == 0 {
		s.table[e] = src
	}
}

// catchUp enters the events of a log that came since, if it has ids of its own.
func (s *sources) catchUp(log *event.Log) {
	if log.Numbered() {
		return
	}
	for all := log.All(); s.noted < all.Len(); s.noted++ {
		s.note(all.Edge(s.noted), all.Src[s.noted], all.Len())
	}
}

func (s *sources) of(e event.Edge, log *event.Log) event.Node {
	switch {
	case log.Numbered():
		if all := log.All(); e > 0 && int(e) <= all.Len() {
			return all.Src[e-1]
		}
		return 0
	case e >= 0 && int(e) < len(s.table) && s.table[e] != 0:
		return s.table[e]
	}
	return s.far[e]
}
