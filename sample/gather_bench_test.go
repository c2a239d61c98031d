package sample

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
	"github.com/dygmamba/dygmamba/protocol"
)

// dygmamba256 is DyGMamba's plan for the enron data set: 256 positions, patches of 8, 30 gaps.
var dygmamba256 = Plan{
	Draws: Both(Draw{Neighbors: 255, RowLen: 264, Target: TargetLast}), Counts: PairCounts, PairGaps: 30,
}

// pairs are the last queries of a log and as many negatives with the same sources and times.
func pairQueries(l *event.Log, n int) []Query { return pairsAt(l, l.Len(), n) }

// pairsAt are the last n queries before an event, and negatives.
func pairsAt(l *event.Log, hi, n int) (qs []Query) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := l.Span(hi-n, hi)
	for i := range n {
		qs = append(qs, Query{s.Src[i], s.Dst[i], s.Time[i], 0})
	}
	for i := range n {
		q := qs[i]
		q.Dst = l.At(rng.IntN(l.Len())).Dst
		qs = append(qs, q)
	}
	return qs
}

func BenchmarkGather(b *testing.B) {
	b.Run("enron", func(b *testing.B) { benchmarkGather(b, streamtest.Real(b, "enron"), dygmamba256) })
	b.Run("enron, by time", func(b *testing.B) {
		log := streamtest.Real(b, "enron")
		by, err := NewPicker(PickerOptions{Strategy: TimeAware, Scale: 1e-6})
		if err != nil {
			b.Fatal(err)
		}
		draws := Both(Draw{Neighbors: 32, RowLen: 32})
		benchmarkGather(b, log, Plan{Draws: draws, Picker: Bind(by, index.Freeze(log), protocol.Reference, 1)})
	})
	b.Run("generated", func(b *testing.B) { benchmarkGather(b, streamtest.Generate(streamtest.Enron, 1), dygmamba256) })
	b.Run("mooc", func(b *testing.B) { benchmarkGather(b, streamtest.Real(b, "mooc"), dygmamba256) })
	b.Run("CanParl, long", func(b *testing.B) {
		long := dygmamba256
		long.Draws, long.PairGaps = Both(Draw{Neighbors: 2047, RowLen: 2112, Target: TargetLast}), 100
		benchmarkGather(b, streamtest.Real(b, "CanParl"), long)
	})
}

// benchmarkGather gathers 400 pairs with counts and gaps.
func benchmarkGather(b *testing.B, l *event.Log, plan Plan) {
	past := index.Freeze(l)
	qs := pairQueries(l, 200)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			batch := &Batch{Positives: len(qs) / 2}
			for b.Loop() {
				Gatherer{Threads: threads}.Gather(past, plan, qs, batch)
			}
			b.ReportMetric(float64(len(qs)*b.N)/b.Elapsed().Seconds(), "queries/s")
		})
	}
}
