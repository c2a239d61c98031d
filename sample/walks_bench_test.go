package sample

import (
	"fmt"
	"testing"

	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/internal/walk"
)

// BenchmarkWalks gathers batches of 200 events and 200 negatives one after the other, as an epoch does, with walks of
// all positions. An operation is a batch; what it would upload is reported beside its time.
func BenchmarkWalks(b *testing.B) {
	for name, length := range map[string]int{"uci": 32, "enron": 256} {
		b.Run(name, func(b *testing.B) {
			log := streamtest.Real(b, name)
			past, span := index.Freeze(log), log.At(log.Len()-1).Time-log.At(0).Time
			plan := Plan{Draws: Both(Draw{Neighbors: length - 1, RowLen: length, Target: TargetLast}),
				Counts: PairCounts, PairGaps: 30, ExactTimes: true}
			const size = 200
			var batches [][]Query
			for hi := log.Len() * 3 / 10; hi < log.Len()*7/10; hi += size {
				batches = append(batches, pairsAt(log, hi, size))
			}
			for _, threads := range []int{1, 2} {
				for _, walks := range []bool{false, true} {
					b.Run(fmt.Sprintf("walks=%v/threads=%d", walks, threads), func(b *testing.B) {
						plan := plan
						if walks {
							plan.Walks = &Walks{Options: walk.Options{Dim: 128, Span: span},
								Nodes: true, Neighbors: true, Direction: true, Roles: true}
						}
						batch, i, rows := &Batch{Positives: size}, 0, 0
						for b.Loop() {
							Gatherer{threads}.Gather(past, plan, batches[i%len(batches)], batch)
							rows += len(batch.Walks.Table)
							i++
						}
						b.ReportMetric(float64(rows)*4/float64(b.N)/1e6, "MB/batch")
					})
				}
			}
		})
	}
}
