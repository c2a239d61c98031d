package walk_test

import (
	"math"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/walk"
)

// BenchmarkPast goes through a stream from its beginning, with the vectors that models use. The state must keep up with
// 200,000 events a second.
func BenchmarkPast(b *testing.B) {
	for name, log := range map[string]*event.Log{
		"mooc":  streamtest.Generate(streamtest.MOOC, 1),
		"enron": streamtest.Generate(streamtest.Enron, 1),
	} {
		b.Run(name, func(b *testing.B) {
			span := log.At(log.Len()-1).Time - log.At(0).Time
			for b.Loop() {
				walk.Over(log, walk.Options{Dim: 128, Span: span}).At(math.Inf(1))
			}
			b.ReportMetric(float64(log.Len())*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
