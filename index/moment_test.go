package index_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// A view as of an event is the past of the events until then, whatever came in later and however late it was.
func TestAsOf(t *testing.T) {
	for _, lateness := range []float64{0, 5, 50} {
		rng := rand.New(rand.NewPCG(3, uint64(lateness)))
		live, log := index.NewLive(), event.NewLog(0)
		type moment struct {
			view index.View
			past *index.Frozen
		}
		var moments []moment
		var continued *index.Live // from the first hundred
		for i := range 300 {
			e := event.Event{Src: event.Node(1 + rng.IntN(6)), Dst: event.Node(1 + rng.IntN(6)),
				Time: math.Floor(float64(i)/3) - math.Floor(lateness*rng.Float64())}
			edge, err := log.Append(e)
			if err != nil {
				t.Fatal(err)
			}
			e.Edge = edge
			live.Add(e)
			if continued != nil {
				continued.Add(e)
			}
			if i == 100 {
				continued = index.Continue(index.Freeze(log.Now()))
			}
			if i%7 == 0 {
				moments = append(moments, moment{live.AsOf(edge, log.Now()), index.Freeze(log.Now())})
			}
			if i%7 == 0 && continued != nil {
				moments = append(moments, moment{continued.AsOf(edge, log.Now()), index.Freeze(log.Now())})
			}
		}
		for k, m := range moments {
			if m.view.NumNodes() != m.past.NumNodes() {
				t.Fatalf("moment %d has %d nodes, want %d", k, m.view.NumNodes(), m.past.NumNodes())
			}
			for n := event.Node(0); n < 9; n++ {
				for _, at := range []event.Time{-10, 0, 20.5, 30, 77, math.Inf(1)} {
					got, want := m.view.Before(n, at), m.past.Before(n, at)
					if !slices.Equal(got.Edge, want.Edge) || !slices.Equal(got.Node, want.Node) ||
						!slices.Equal(got.Time, want.Time) {
						t.Fatalf("lateness %v, moment %d, node %d before %v: edges %v, want %v",
							lateness, k, n, at, got.Edge, want.Edge)
					}
				}
			}
		}
	}
}

// Room that was made beforehand changes nothing but the time that it takes.
func TestExpect(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	plain, expected, log := index.NewLive(), index.NewLive(), event.NewLog(0)
	for round := range 3 {
		if round == 1 {
			expected = index.Continue(index.Freeze(log.Now()))
		}
		var events []event.Event
		counts := make([]int32, 9)
		for i := range 50 {
			e := event.Event{Src: event.Node(1 + rng.IntN(8)), Dst: event.Node(1 + rng.IntN(8)),
				Time: float64(round*50 + i - 30*rng.IntN(2)), Edge: event.Edge(round*50 + i + 1)}
			events = append(events, e)
			counts[e.Src]++
			counts[e.Dst]++
		}
		expected.Expect(counts)
		for _, e := range events {
			plain.Add(e)
			expected.Add(e)
			log.Append(e)
		}
	}
	for n := range event.Node(10) {
		a, b := plain.Before(n, 1e9), expected.Before(n, 1e9)
		c, d := plain.AsOf(70, nil).Before(n, 1e9), expected.AsOf(70, nil).Before(n, 1e9)
		if !slices.Equal(a.Edge, b.Edge) || !slices.Equal(a.Node, b.Node) || !slices.Equal(c.Edge, d.Edge) {
			t.Errorf("node %d: %v, want %v", n, b.Edge, a.Edge)
		}
	}
}
