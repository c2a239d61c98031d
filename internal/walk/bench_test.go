package walk_test

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/internal/walk"
)

// BenchmarkPast goes through a stream from its beginning, with the vectors that models use. The state must keep up with
// 200,000 events a second.
func BenchmarkPast(b *testing.B) {
	for name, log := range map[string]*event.Log{
		"mooc":  streamtest.Generate(streamtest.MOOC, 1),
		"enron": streamtest.Generate(streamtest.Enron, 1),
	} {
		for what, follow := range map[string]bool{"": false, "/next item": true} {
			b.Run(name+what, func(b *testing.B) {
				span := log.At(log.Len()-1).Time - log.At(0).Time
				for b.Loop() {
					walk.Over(log, walk.Options{Dim: 128, Span: span, Follow: follow}).At(math.Inf(1))
				}
				b.ReportMetric(float64(log.Len())*float64(b.N)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

// BenchmarkLate asks for the state after every ten events, some of which are a little late.
func BenchmarkLate(b *testing.B) {
	source := streamtest.Generate(streamtest.MOOC, 1)
	span := source.At(source.Len()-1).Time - source.At(0).Time
	log := event.NewLog(0)
	add := func(n int, late event.Time) {
		for range n {
			e := source.At(log.Len() % source.Len())
			e.Time = event.Time(log.Len()) - late*event.Time(log.Len()%3)
			e.Edge = 0
			if _, err := log.Append(e); err != nil {
				b.Fatal(err)
			}
		}
	}
	add(300_000, 0)
	past := walk.Over(log, walk.Options{Dim: 128, Span: span})
	past.At(math.Inf(1))
	for b.Loop() {
		add(10, 20)
		past.At(math.Inf(1))
	}
}
