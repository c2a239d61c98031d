package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/event"
)

// BenchmarkLate adds events to a hub, each earlier than some of the last this many of the hub's own, alone and with a
// question after every one: of all that the hub had done, as of the event.
func BenchmarkLate(b *testing.B) {
	for _, size := range []int{1_000, 100_000, 1_000_000} {
		for _, lateness := range []int{1, 100, size} {
			for _, asked := range []bool{false, true} {
				name := fmt.Sprintf("hub=%d/late=%d/asked=%v", size, lateness, asked)
				b.Run(name, func(b *testing.B) { benchmarkLate(b, size, lateness, asked) })
			}
		}
	}
}

func benchmarkLate(b *testing.B, size, lateness int, asked bool) {
	const hub = 1
	rng := rand.New(rand.NewPCG(1, 1))
	live, edge := NewLive(), event.Edge(0)
	add := func(at event.Time) {
		edge++
		live.Add(event.Event{Src: hub, Dst: 2 + event.Node(edge)%1000, Time: at, Edge: edge})
	}
	fill := func() {
		live, edge = NewLive(), 0
		for i := range size {
			add(event.Time(i))
		}
	}
	fill()
	for b.Loop() {
		if int(edge) >= size+size/2+1000 { // still about as large
			b.StopTimer()
			fill()
			b.StartTimer()
		}
		add(event.Time(size-1-rng.IntN(lateness)) - 0.5)
		if asked {
			live.AsOf(edge, nil).Before(hub, math.Inf(1))
		}
	}
}

// BenchmarkMoment asks for the past of a hub as of the last event, in order and after a late one.
func BenchmarkMoment(b *testing.B) {
	for _, size := range []int{1_000, 100_000, 1_000_000} {
		for _, late := range []bool{false, true} {
			b.Run(fmt.Sprintf("hub=%d/late=%v", size, late), func(b *testing.B) {
				live := NewLive()
				for i := range size {
					live.Add(event.Event{Src: 1, Dst: 2, Time: event.Time(i), Edge: event.Edge(i + 1)})
				}
				if late {
					live.Add(event.Event{Src: 1, Dst: 2, Time: 0.5, Edge: event.Edge(size + 1)})
				}
				view := live.AsOf(event.Edge(size+1), nil)
				for b.Loop() {
					view.Before(1, math.Inf(1))
				}
			})
		}
	}
}
