package walkmamba

import (
	"fmt"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/internal/walk"
	"github.com/dygmamba/dygmamba/sample"
)

// negated asks about events, and about the same sources with other destinations.
func negated(log *event.Log, events event.Span) (qs []sample.Query) {
	for k := range 2 * events.Len() {
		i := k % events.Len()
		q := sample.Query{Src: events.Src[i], Dst: events.Dst[i], Time: events.Time[i]}
		if k >= events.Len() {
			q.Dst = log.At(k * 7919 % log.Len()).Dst
		}
		qs = append(qs, q)
	}
	return qs
}

// BenchmarkWalks gathers batches of 200 events and 200 negatives one after the other, as an epoch does, with walks of
// all positions. An operation is a batch; what it would upload is reported beside its time.
func BenchmarkWalks(b *testing.B) {
	for name, length := range map[string]int{"uci": 32, "enron": 256} {
		b.Run(name, func(b *testing.B) {
			log := streamtest.Real(b, name)
			past, span := index.Freeze(log), log.At(log.Len()-1).Time-log.At(0).Time
			row := sample.Draw{Neighbors: length - 1, RowLen: length, Target: sample.TargetLast}
			plan := sample.Plan{Draws: sample.Both(row),
				Counts: sample.PairCounts, PairGaps: 30, ExactTimes: true}
			const size = 200
			var batches [][]sample.Query
			for hi := log.Len() * 3 / 10; hi < log.Len()*7/10; hi += size {
				batches = append(batches, negated(log, log.Span(hi-size, hi)))
			}
			for _, threads := range []int{1, 2} {
				for _, walks := range []bool{false, true} {
					b.Run(fmt.Sprintf("walks=%v/threads=%d", walks, threads), func(b *testing.B) {
						plan := plan
						if walks {
							plan.Extras = []sample.Extra{&extra{options: walk.Options{Dim: 128, Span: span},
								states: new(states), nodes: true, neighbors: true, direction: true, roles: true}}
						}
						batch, i, rows := &sample.Batch{Positives: size}, 0, 0
						for b.Loop() {
							sample.Gatherer{Threads: threads}.Gather(past, plan, batches[i%len(batches)], batch)
							if walks {
								rows += len(foundIn(batch).Table)
							}
							i++
						}
						b.ReportMetric(float64(rows)*4/float64(b.N)/1e6, "MB/batch")
					})
				}
			}
		})
	}
}
