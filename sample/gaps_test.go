package sample

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
)

func TestGaps(t *testing.T) {
	for _, c := range []struct {
		times []event.Time // when the pair met
		k     int
		want  []float32
	}{
		{[]event.Time{1, 4, 4}, 3, []float32{1e10, 3, 6}},
		{[]event.Time{1, 2, 4, 7, 8.5}, 3, []float32{3, 1.5, 1.5}},
		{[]event.Time{6}, 3, []float32{1e10, 1e10, 4}},
		{nil, 3, []float32{1e10, 1e10, 1e10}},
		{[]event.Time{2, 5, 9}, 3, []float32{3, 4, 1}},
		{[]event.Time{2, 9, 10, 10, 11}, 3, []float32{1e10, 7, 1}}, // 10 and later is not known yet
		{[]event.Time{-3, 0, 0}, 3, []float32{1e10, 3, 10}},
		{[]event.Time{1, 2}, 1, []float32{8}},
	} {
		var events []event.Event
		for i, at := range c.times { // now one of them acts, now the other; either may be the busier one
			e := event.Event{Src: 1, Dst: 2, Time: at}
			if i%2 == 1 {
				e.Src, e.Dst = e.Dst, e.Src
			}
			events = append(events, e, event.Event{Src: 2, Dst: 3, Time: at}, event.Event{Src: 2, Dst: 2, Time: at})
		}
		view := index.Freeze(streamtest.Log(t, events))
		for _, q := range []Query{{1, 2, 10, 0}, {2, 1, 10, 0}} {
			var b Batch
			Gather(view, Plan{PairGaps: c.k}, []Query{q}, &b)
			if diff := cmp.Diff(c.want, b.Gaps); diff != "" {
				t.Errorf("meetings %v, query %v: %s", c.times, q, diff)
			}
		}
	}
}

// TestGapsPrecision has two moments whose float32 are the same: differences are taken before rounding.
func TestGapsPrecision(t *testing.T) {
	events := []event.Event{{Src: 1, Dst: 2, Time: 113740395}, {Src: 1, Dst: 2, Time: 113740397}}
	var b Batch
	Gather(index.Freeze(streamtest.Log(t, events)), Plan{PairGaps: 3}, []Query{{1, 2, 113740398, 0}}, &b)
	if diff := cmp.Diff([]float32{1e10, 2, 1}, b.Gaps); diff != "" {
		t.Error(diff)
	}
}
