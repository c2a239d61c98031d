package jetstream

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/brokertest"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

// BenchmarkAppend: one server in this process, which syncs before it acknowledges.
func BenchmarkAppend(b *testing.B) {
	for _, bb := range []struct{ events, parallel int }{{1000, 1}, {1000, 4}, {1, 32}} {
		b.Run(fmt.Sprintf("events=%d/parallel=%d", bb.events, bb.parallel), func(b *testing.B) {
			l := open(b, brokertest.Run(b, brokertest.Settings(b.TempDir())).ClientURL(), Options{})
			events := eventlogtest.Events("user123", bb.events)
			b.SetParallelism(bb.parallel)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := l.Append(context.Background(), "", events); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N*bb.events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkRead opens a log of a million events in batches of 1,000 and reads it.
func BenchmarkRead(b *testing.B) {
	const batches, size = 1000, 1000
	url := brokertest.Run(b, brokertest.Settings(b.TempDir())).ClientURL()
	l := open(b, url, Options{})
	events := eventlogtest.Events("user123", size)
	for range batches {
		if _, err := l.Append(context.Background(), "", events); err != nil {
			b.Fatal(err)
		}
	}
	done := errors.New("done")
	for b.Loop() {
		l := open(b, url, Options{})
		err := l.Follow(context.Background(), 0, func(batch eventlog.Batch) error {
			if batch.Last == batches*size {
				return done
			}
			return nil
		})
		if err != done {
			b.Fatal(err)
		}
		l.Close()
	}
	b.ReportMetric(float64(b.N*batches*size)/b.Elapsed().Seconds(), "events/s")
}
