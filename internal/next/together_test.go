package next

import (
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// Checkpoints from before groups, profiles and steps know none, and their networks are as wide as they were.
func TestWidthsStay(t *testing.T) {
	for _, x := range []struct {
		setup      Setup
		candidate  int
		source     int
		candidates string
	}{
		{Setup{Span: 1}, 59, 43, "as before"}, {Setup{Span: 1, Together: true}, 69, 49, "groups"},
		{Setup{Span: 1, Profiles: true}, 66, 43, "profiles"},
		{Setup{Span: 1, Together: true, Profiles: true}, 76, 49, "both"}, {of(1), 77, 49, "steps"},
	} {
		if got, source := x.setup.Width(), x.setup.SourceWidth(); got != x.candidate || source != x.source {
			t.Errorf("%s: %d and %d features, want %d and %d", x.candidates, got, source, x.candidate, x.source)
		}
	}
}

// Who got the same message is together with one, once for each message however often it was counted, and not before
// its instant is over.
func TestTogether(t *testing.T) {
	c := NewCounts(of(10))
	send := func(at event.Time, src event.Node, to ...event.Node) {
		for _, v := range to {
			c.Add(src, v, at)
		}
	}
	send(1, 9, 1, 2, 3, 1, 2, 3) // two copies of one message
	send(2, 8, 4, 5)
	send(3, 1, 7)
	w := c.At(nil, 1, 4)
	if h := w.heard[2]; h.place != 0 || h.at != 1 || w.heard[3] != h {
		t.Errorf("2 and 3 got the latest message that 1 got, at 1: found %+v and %+v", h, w.heard[3])
	}
	if _, found := w.heard[4]; found {
		t.Error("4 got no message that 1 got")
	}
	if !slices.Equal(c.nodes[1].with, []event.Node{2, 3}) {
		t.Errorf("together with 1: %v, want 2 and 3 once", c.nodes[1].with)
	}
	if got := w.together(nil, 2, nil); got[0] != 1 || got[2] != 1 || got[4] != 0 || got[5] <= 0 {
		t.Errorf("of 2: %v, want that it got the latest message, before 1 acted", got)
	}
	send(5, 8, 1, 4)
	w = c.At(nil, 1, 6)
	if w.heard[4].place != 0 || w.heard[2].place != 1 || w.together(nil, 4, nil)[4] != 1 {
		t.Errorf("after another message: %+v; want 4 in the latest, after 1 acted, and 2 in the one before", w.heard)
	}
	for i := range 5000 { // what is kept is bounded
		send(event.Time(10+i), 9, 1, 2)
	}
	if n := len(c.nodes[1].with); n < fellows || n > 2*fellows {
		t.Errorf("%d destinations together with 1 are kept, want %d to %d", n, fellows, 2*fellows)
	}
}

// Steps count all events from a destination's last instant on.
func TestSteps(t *testing.T) {
	c := NewCounts(of(10))
	for i, v := range []event.Node{5, 6, 5, 7} {
		c.Add(1, v, event.Time(i))
	}
	c.Add(3, 8, 3) // at the instant of 7
	w := c.At(nil, 2, 4)
	for v, want := range map[event.Node]float32{7: often(2), 8: often(2), 5: often(3), 6: often(4), 1: 2, 99: 2} {
		if got := w.steps(v); got != want {
			t.Errorf("%d: %v, want %v", v, got, want)
		}
	}
}

// Destinations of the same sources are more alike than others.
func TestProfiles(t *testing.T) {
	c, gen := NewCounts(of(100)), rng.New(7, "two camps")
	for i := range 2000 { // sources 1 to 20 choose among 100 to 129 or among 200 to 229
		camp := gen.Below(2)
		u, v := event.Node(1+2*gen.Below(10)+camp), event.Node(100*(1+camp)+gen.Below(30))
		c.Add(u, v, event.Time(i))
	}
	for i := range 6 { // a new source of the first camp
		c.Add(50, event.Node(100+i), event.Time(2001+i))
	}
	w := c.At(nil, 50, 2010)
	for k := range 5 { // the others are to who chose the source, and to what the candidate chose: there is nobody
		own, other := w.likeness(nil, 117)[k], w.likeness(nil, 217)[k]
		if own < other+0.2 || own > 1.001 || other < -1.001 {
			t.Errorf("likeness %d: %v to its own camp, %v to the other", k, own, other)
		}
	}
	if x := w.likeness(nil, 999); slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) {
		t.Errorf("someone unknown is like %v", x)
	}
}
