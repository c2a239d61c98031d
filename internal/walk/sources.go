package walk

import (
	"sync"

	"github.com/dygmamba/dygmamba/event"
)

// sources are those of events by edge id. Where ids are the places in the log, the log tells them; otherwise a table
// does while ids are about as many as events, which is usual.
type sources struct {
	noted int // events of the log
	table paged[event.Node]
	far   *farSources // which forks share: of one log all say the same
}

// farSources are those of events whose ids are large.
type farSources struct {
	mu sync.RWMutex
	of map[event.Edge]event.Node
}

func newSources() sources {
	return sources{table: newPaged[event.Node](1, 4), far: &farSources{of: map[event.Edge]event.Node{}}}
}

// fork is the same for another goroutine.
func (s *sources) fork() sources {
	s.table.share()
	return sources{s.noted, s.table.clone(), s.far}
}

// note enters an event; of several with one id the first counts.
func (s *sources) note(e event.Edge, src event.Node, events int) {
	if int(e) > 4*events+1024 {
		s.far.mu.Lock()
		defer s.far.mu.Unlock()
		if _, there := s.far.of[e]; !there {
			s.far.of[e] = src
		}
		return
	}
	at, _ := s.table.own(e)
	s.table.settle()
	if at[0] == 0 {
		at[0] = src
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
	case e >= 0 && s.table.has(e) && s.table.at(e)[0] != 0:
		return s.table.at(e)[0]
	}
	s.far.mu.RLock()
	defer s.far.mu.RUnlock()
	return s.far.of[e]
}
