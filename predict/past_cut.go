package predict

import (
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
)

// NewPastOf begins with those events of a set that keep names by number. Events that come in get the ids that they
// would get after all of the set's events, whose features stay known by id. It answers as a past of a set that has
// these events alone.
func NewPastOf(set *dataset.Set, keep func(i int) bool) *Past {
	next := set.Log.Len()
	for i := range next {
		next = max(next, int(set.Log.At(i).Edge))
	}
	p := newPast(set.Log.Select(keep), nil)
	p.width, p.first = set.Edge.Cols, event.Edge(next+1)
	p.show()
	return p
}
