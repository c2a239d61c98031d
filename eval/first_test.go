package eval

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
)

// TestFirstMeetings: either direction counts, the same instant does not, and events outside of the part do.
func TestFirstMeetings(t *testing.T) {
	log := func(list ...event.Event) event.Span {
		l := event.NewLog(0)
		for _, e := range list {
			if _, err := l.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		return l.All()
	}
	full := log(
		event.Event{Src: 1, Dst: 2, Time: 1}, event.Event{Src: 3, Dst: 4, Time: 2}, event.Event{Src: 5, Dst: 5, Time: 2},
		event.Event{Src: 2, Dst: 1, Time: 3}, event.Event{Src: 1, Dst: 3, Time: 3}, event.Event{Src: 3, Dst: 1, Time: 3},
		event.Event{Src: 1, Dst: 3, Time: 4}, event.Event{Src: 5, Dst: 5, Time: 4}, event.Event{Src: 6, Dst: 7, Time: 4},
	)
	got := firstMeetings(full.Slice(3, full.Len()), full)
	if want := []bool{false, true, true, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := firstMeetings(event.Span{}, full); len(got) != 0 {
		t.Errorf("%v of no events", got)
	}
}

// TestFirstTally: every first meeting stands beside its own negatives, across batches.
func TestFirstTally(t *testing.T) {
	tally := firstTally{first: []bool{true, false, true}}
	tally.add([]float32{1, 2}, []float32{10, 20, 100, 200}) // two negatives each
	tally.add([]float32{3}, []float32{30, 300})
	if !slices.Equal(tally.pos, []float32{1, 3}) || !slices.Equal(tally.neg, []float32{10, 100, 30, 300}) {
		t.Errorf("positives %v, negatives %v", tally.pos, tally.neg)
	}
	var r Result
	tally.put(&r, new(Meter))
	if *r.FirstPositives != 2 || *r.FirstAP >= 1 {
		t.Errorf("%d positives, AP %v", *r.FirstPositives, *r.FirstAP)
	}
}
