package predict

import (
	"math"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

// NewPastFrom begins with those events of a set that are not before a time. Events that come in get the ids that they
// would get after all of the set's events, whose features stay known by id.
func NewPastFrom(set *dataset.Set, cut event.Time) *Past {
	if math.IsInf(cut, -1) {
		return NewPast(set)
	}
	next := set.Log.Len()
	for i := range next {
		next = max(next, int(set.Log.At(i).Edge))
	}
	return cutPast(set.Log, set.Log.Len(), cut, event.Edge(next+1), set.Edge.Cols)
}

// From is a past of its own with the events of a view that are not before a time, in their order. It answers as a past
// that began with these events.
func (m *PastView) From(cut event.Time) *Past {
	p := cutPast(m.log, m.known, cut, m.first, m.width)
	p.Take(m, m.known, cut)
	return p
}

// cutPast begins with those of the first events of a log that are not before a time.
func cutPast(log *event.Log, known int, cut event.Time, first event.Edge, width int) *Past {
	times := log.All().Time
	p := newPast(log.Select(func(i int) bool { return i < known && times[i] >= cut }), nil)
	p.width, p.first = width, first
	p.show()
	return p
}

// Take adds the events of another past's view, from a number on, that are not before a time.
func (p *Past) Take(m *PastView, from int, cut event.Time) {
	const step = 1 << 14
	all := m.log.All()
	var src, dst []event.Node
	for i := from; i < all.Len(); i++ {
		if all.Time[i] >= cut {
			src, dst = append(src, all.Src[i]), append(dst, all.Dst[i])
		}
	}
	if len(src) > step { // few come at a time otherwise, and the room that doubles is enough
		p.Expect(src, dst)
	}
	events, features := make([]event.Event, 0, step), make([][]float32, 0, step)
	add := func() {
		list := features
		if m.rows == nil {
			list = nil
		}
		if err := p.Add(events, list); err != nil {
			panic(err) // the other past took them
		}
		events, features = events[:0], features[:0]
	}
	for i := from; i < all.Len(); i++ {
		if all.Time[i] < cut {
			continue
		}
		events, features = append(events, all.At(i)), append(features, m.Features(i-m.known))
		if len(events) == step {
			add()
		}
	}
	add()
}
