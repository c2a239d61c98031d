package data

import (
	"slices"

	"github.com/dygmamba/dygmamba/event"
)

// Slice is the part of a set that happened from a time on and before another. Nodes keep their ids, names and features,
// also those that have no events there, so that what was trained on the whole can be asked about the part. Events are
// numbered anew. The part is in memory of its own, but for names and features of nodes.
func Slice(s *Set, from, to event.Time) *Set {
	all := s.Log.All()
	kept := make([]int, 0, all.Len())
	for i, at := range all.Time {
		if at >= from && at < to {
			kept = append(kept, i)
		}
	}
	part := *s
	part.release = nil
	part.Path = ""
	part.Log = event.NewLog(len(kept))
	part.Edge = Features{Rows: len(kept) + 1, Cols: s.Edge.Cols}
	if s.Edge.Data != nil {
		part.Edge.Data = make([]float32, part.Edge.Rows*part.Edge.Cols)
	}
	// In the order of their old ids, which is the one in which they came.
	number := make([]event.Edge, len(kept))
	for k, i := range byEdge(all, kept) {
		number[i] = event.Edge(k + 1)
	}
	for k, i := range kept {
		e := all.At(i)
		if s.Edge.Data != nil {
			copy(part.Edge.Row(int(number[k])), s.Edge.Row(int(e.Edge)))
		}
		e.Edge = number[k]
		if _, err := part.Log.Append(e); err != nil {
			panic(err) // the other log has accepted it
		}
	}
	return &part
}

// byEdge is the order of events by their ids: places in kept.
func byEdge(all event.Span, kept []int) []int {
	order := make([]int, len(kept))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return int(all.Edge(kept[a])) - int(all.Edge(kept[b])) })
	return order
}
