package index

import (
	"math/rand/v2"
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
	live := NewLive()
	for i := range l.Len() {
		live.Add(l.At(i))
	}
	order := map[string][]int{"ordered": nil, "shuffled": rand.New(rand.NewPCG(1, 1)).Perm(l.Len())}
	for i := range l.Len() {
		order["ordered"] = append(order["ordered"], i)
	}
	for _, view := range []struct {
		name string
		View
	}{{"frozen", Freeze(l)}, {"live", live}} {
		for name, perm := range order {
			b.Run(view.name+"/"+name, func(b *testing.B) {
				i, found := 0, 0
				s := l.All()
				for b.Loop() {
					k := perm[i]
					found += view.Before(s.Src[k], s.Time[k]).Len() + view.Before(s.Dst[k], s.Time[k]).Len()
					if i++; i == len(perm) {
						i = 0
					}
				}
				b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds(), "lookups/s")
			})
		}
	}
}

func BenchmarkFreeze(b *testing.B) {
	sorted := streamtest.Generate(streamtest.Shape{Events: 1_000_000, Sources: 20_000, Dests: 2_000, Instants: 500_000}, 1)
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
