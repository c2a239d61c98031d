package eval

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
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
	e := func(src, dst event.Node, at event.Time) event.Event { return event.Event{Src: src, Dst: dst, Time: at} }
	full := log(e(1, 2, 1), e(3, 4, 2), e(5, 5, 2), e(2, 1, 3), e(1, 3, 3), e(3, 1, 3), e(1, 3, 4), e(5, 5, 4),
		e(6, 7, 4))
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

// TestFirstMeetingsOfHistories: a few events of a log with histories are found to be what going through all events
// says.
func TestFirstMeetingsOfHistories(t *testing.T) {
	full, part := event.NewLog(0), event.NewLog(0)
	for i := range 4000 {
		e := event.Event{Src: event.Node(1 + i*i%13), Dst: event.Node(1 + i*7%31), Time: float64(i / 4)}
		if i > 300 && i%40 == 0 {
			e.Dst = event.Node(40 + i/400)
		}
		if _, err := full.Append(e); err != nil {
			t.Fatal(err)
		}
		if i%37 == 0 || i%400 == 0 {
			if _, err := part.Append(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := firstMeetings(part.All(), full.All())
	full.SetIndex(index.Freeze(full))
	if got := firstIn(part, full); !slices.Equal(got, want) || !slices.Contains(want, true) ||
		!slices.Contains(want, false) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFirstInOrder: of a log in the order of time the same is found without a table of its pairs, for parts that are
// ranges and for others. A part with other events is noticed.
func TestFirstInOrder(t *testing.T) {
	full := event.NewLog(0)
	for i := range 3000 {
		e := event.Event{Src: event.Node(1 + i*i%13), Dst: event.Node(1 + i*7%31), Time: float64(i / 4)}
		if i%3 == 0 {
			e.Dst = event.Node(40 + i*i%701)
		}
		if _, err := full.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []*event.Log{full.Part(2000, 3000), full.Part(0, 3000), full.Part(1001, 1300),
		full.Select(func(i int) bool { return i%3 != 1 })} {
		want := firstMeetings(part.All(), full.All())
		got, ok := firstInOrder(part, full)
		if !ok || !slices.Equal(got, want) || !slices.Contains(want, true) || !slices.Contains(want, false) {
			t.Errorf("%v, %v, want %v", got, ok, want)
		}
	}
	other := event.NewLog(0)
	if _, err := other.Append(event.Event{Src: 1, Dst: 2, Time: 5, Edge: 3001}); err != nil {
		t.Fatal(err)
	}
	if _, ok := firstInOrder(other, full); ok {
		t.Error("a part with an event that is not in the log")
	}
}
