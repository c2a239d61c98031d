package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/eventlogtest"
)

// BenchmarkAppend: every append is on disk before the next one of its goroutine begins.
func BenchmarkAppend(b *testing.B) {
	for _, bb := range []struct{ events, goroutines int }{{1000, 2}, {1000, 8}, {1, 2}, {1, 64}} {
		for _, keyed := range []string{"", "key"} {
			b.Run(fmt.Sprintf("events=%d/goroutines=%d/%s", bb.events, bb.goroutines, keyed), func(b *testing.B) {
				l := open(b, b.TempDir(), Options{})
				events := eventlogtest.Events("user123", bb.events)
				var n atomic.Int64
				before := commits(l)
				b.SetParallelism(max(1, bb.goroutines/runtime.GOMAXPROCS(0)))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						key := keyed
						if key != "" {
							key = fmt.Sprintf("7d444840-9dc0-11d1-b245-%012d", n.Add(1))
						}
						if _, err := l.Append(context.Background(), key, events); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.N*bb.events)/b.Elapsed().Seconds(), "events/s")
				b.ReportMetric(float64(b.N)/float64(commits(l)-before), "appends/commit")
			})
		}
	}
}

// commits counts those of a log.
func commits(l *Log) (n int) {
	l.db.View(func(tx *bolt.Tx) error { n = tx.ID(); return nil })
	return n
}

// BenchmarkRead reads ten million events back, of batches of 1,000 and of single ones: opening, following, decoding.
// EVENTLOG_BENCH_EVENTS makes it fewer.
func BenchmarkRead(b *testing.B) {
	total := 10_000_000
	if n, err := strconv.Atoi(os.Getenv("EVENTLOG_BENCH_EVENTS")); err == nil {
		total = n
	}
	for _, size := range []int{1000, 1} {
		b.Run(fmt.Sprint("events=", size), func(b *testing.B) {
			dir := b.TempDir()
			fill(b, dir, total, size)
			for b.Loop() {
				l := open(b, dir, Options{})
				done := errors.New("done")
				count := 0
				err := l.Follow(context.Background(), 0, func(batch eventlog.Batch) error {
					if count += len(batch.Events); count == total {
						return done
					}
					return nil
				})
				if err != done {
					b.Fatal(err)
				}
				l.Close()
			}
			b.ReportMetric(float64(b.N*total)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// fill writes a log with commits of 1,000 appends.
func fill(b *testing.B, dir string, total, size int) {
	l := open(b, dir, Options{})
	events := eventlogtest.Events("user123", size)
	g := group{}
	for n := 0; n < total; n += size {
		g.requests = append(g.requests, &request{events: events, answered: make(chan struct{})})
		if len(g.requests) == 1000 || n+size >= total {
			l.commit(&g)
			if err := g.requests[0].err; err != nil {
				b.Fatal(err)
			}
			g.requests = g.requests[:0]
		}
	}
	l.Close()
}
