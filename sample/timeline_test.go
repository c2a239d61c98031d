package sample

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// timelineWorld is a random stream and random rows about its nodes, many of both in one instant.
func timelineWorld(seed uint64) (past index.View, nodes []event.Node, times []event.Time, qs []Query) {
	rng := rand.New(rand.NewPCG(seed, 9))
	log := event.NewLog(0)
	for i := range 120 {
		log.Append(event.Event{Src: 1 + rng.Int32N(7), Dst: 1 + rng.Int32N(9), Time: float64(i / 6)})
	}
	for i := range 60 {
		nodes, times = append(nodes, 1+rng.Int32N(8)), append(times, float64(i/3)+float64(rng.IntN(2))/2)
	}
	slices.Sort(times)
	for range 30 {
		qs = append(qs, Query{Src: 1 + rng.Int32N(12), Dst: 1 + rng.Int32N(12), Time: float64(rng.IntN(45)) / 2})
	}
	return index.Freeze(log), nodes, times, qs
}

// latest is what Row should be: the last row of a node strictly before a time.
func latest(nodes []event.Node, times []event.Time, n event.Node, at event.Time) (row int32) {
	for i, m := range nodes {
		if m == n && times[i] < at {
			row = int32(i + 1)
		}
	}
	return row
}

// TestTimeline: every node of a batch, neighbours of neighbours and the query's own included, is described by its
// latest row strictly before the query's time, on any number of threads.
func TestTimeline(t *testing.T) {
	for seed := range uint64(20) {
		past, nodes, times, qs := timelineWorld(seed)
		plan := Plan{Timeline: NewTimeline(nodes, times), ByCall: seed%4 == 3, Draws: []Draw{
			{Of: Src, Neighbors: 4, RowLen: 5, Target: TargetLast}, {Of: Dst, Neighbors: 4, RowLen: 4},
			{Of: Hop(0), Neighbors: 3, RowLen: 3}}}
		for _, threads := range []int{1, 3} {
			b := &Batch{Positives: len(qs) / 2}
			Gatherer{Threads: threads}.Gather(past, plan, qs, b)
			parts := b.Calls
			if len(parts) == 0 {
				parts = []*Batch{b}
			}
			for _, c := range parts {
				checkStates(t, c, nodes, times)
			}
			plan := plan
			if plan.Timeline = nil; seed%4 == 3 {
				continue
			}
			Gatherer{Threads: threads}.Gather(past, plan, qs, b)
			if r := &b.Rows[0]; len(r.State) > 0 || !slices.Equal(r.Described(), r.Node) ||
				b.AppendDescribed(nil, Dst, 3)[2] != qs[2].Dst {
				t.Error("without a timeline nodes are not described by their ids")
			}
		}
	}
}

func checkStates(t *testing.T, b *Batch, nodes []event.Node, times []event.Time) {
	t.Helper()
	n := len(b.Queries)
	for _, of := range []Root{Src, Dst} {
		for i, row := range b.AppendDescribed(nil, of, n) {
			if q := b.Queries[i]; row != latest(nodes, times, of.Node(q), q.Time) {
				t.Fatalf("node %d of %v is described by row %d", of, q, row)
			}
		}
	}
	for d := range b.Rows {
		r := &b.Rows[d]
		for i, node := range r.Node {
			q := b.Queries[i/(len(r.Node)/n)]
			if want := latest(nodes, times, node, q.Time); r.Described()[i] != want {
				t.Fatalf("draw %d: node %d near %v is described by row %d, want %d", d, node, q, r.Described()[i], want)
			}
		}
	}
}

// TestTimelineAllocatesNothing: once a batch has held as much.
func TestTimelineAllocatesNothing(t *testing.T) {
	past, nodes, times, qs := timelineWorld(1)
	plan := Plan{Timeline: NewTimeline(nodes, times), Draws: Both(Draw{Neighbors: 4, RowLen: 4})}
	b := &Batch{}
	g := Gatherer{Threads: 1}
	g.Gather(past, plan, qs, b)
	if n := testing.AllocsPerRun(20, func() { g.Gather(past, plan, qs, b) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
