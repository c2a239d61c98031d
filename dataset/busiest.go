package dataset

import (
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// Busy is a node and how often it occurs.
type Busy struct {
	Node   event.Node
	Events int
}

// Busiest are the nodes that occur most often, those of as many events in the order of their ids.
func Busiest(s *Set, most int) (top []Busy) {
	for n, count := range index.Totals(s.Log, s.Log.Len()) {
		at := len(top)
		for at > 0 && top[at-1].Events < int(count) {
			at--
		}
		if count > 0 && at < most {
			top = slices.Insert(top, at, Busy{event.Node(n), int(count)})
			top = top[:min(most, len(top))]
		}
	}
	return top
}
