package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
)

func BenchmarkBefore(b *testing.B) {
	b.Run("mooc", func(b *testing.B) { benchmarkBefore(b, streamtest.Real(b, "mooc")) })
	b.Run("generated", func(b *testing.B) { benchmarkBefore(b, streamtest.Generate(streamtest.MOOC, 1)) })
}

// benchmarkBefore asks for both ends of every event at its time: in order of time, as replay does, and shuffled.
func benchmarkBefore(b *testing.B, l *event.Log) {
	type ask struct {
		n event.Node
		t event.Time
	}
	live := NewLive()
	var ordered []ask
	for i := range l.Len() {
		e := l.At(i)
		live.Add(e)
		ordered = append(ordered, ask{e.Src, e.Time}, ask{e.Dst, e.Time})
	}
	shuffled := slices.Clone(ordered)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	run := func(name string, view View, asks []ask) {
		b.Run(name, func(b *testing.B) {
			i, found := 0, 0
			for b.Loop() {
				found += view.Before(asks[i].n, asks[i].t).Len()
				if i++; i == len(asks) {
					i = 0
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lookups/s")
		})
	}
	frozen := Freeze(l)
	run("frozen/ordered", frozen, ordered)
	run("frozen/shuffled", frozen, shuffled)
	run("live/ordered", live, ordered)
	run("live/shuffled", live, shuffled)
}

func BenchmarkFreeze(b *testing.B) {
	shape := streamtest.Shape{Events: 1_000_000, Sources: 20_000, Dests: 2_000, Instants: 500_000}
	sorted := streamtest.Generate(shape, 1)
	late := new(event.Log)
	for i := range sorted.Len() {
		e := sorted.At(i)
		if i%100 == 0 {
			e.Time -= 50_000
		}
		if _, err := late.Append(e); err != nil {
			b.Fatal(err)
		}
	}
	for name, l := range map[string]*event.Log{"sorted": sorted, "late": late} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Freeze(l)
			}
			b.ReportMetric(float64(l.Len())*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	l := streamtest.Generate(streamtest.MOOC, 1)
	live, i := NewLive(), 0
	for b.Loop() {
		if i == l.Len() {
			live, i = NewLive(), 0
		}
		live.Add(l.At(i))
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
