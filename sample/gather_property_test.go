package sample

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/streamtest"
)

var plans = map[string]Plan{
	"released": {Draws: Both(Draw{Neighbors: 7, RowLen: 9, Target: TargetLast}), Counts: PairCounts, PairGaps: 3},
	"equations": {
		Draws: Both(Draw{Neighbors: 7, RowMultiple: 3, Target: TargetLast}), Counts: PaperCounts, PairGaps: 3,
	},
	"dygformer": {
		Draws: Both(Draw{Neighbors: 7, RowMultiple: 2, Target: TargetFirst, PadRight: true}), Counts: PlainCounts,
	},
	"tcl":    {Draws: Both(Draw{Neighbors: 4, RowLen: 5, Target: TargetFirst})},
	"recent": {Draws: Both(Draw{Neighbors: 4, RowLen: 4})},
	"exact":  {Draws: Both(Draw{Neighbors: 4, RowLen: 6, Target: TargetLast}), ExactTimes: true},
	"hops": {Draws: []Draw{
		{Of: Src, Neighbors: 3, RowLen: 3},
		{Of: Hop(0), Neighbors: 2, RowLen: 2},
		{Of: Dst, Neighbors: 4, RowLen: 5, Target: TargetFirst},
		{Of: Hop(2), Neighbors: 2, RowLen: 2},
		{Of: Hop(1), Neighbors: 1, RowLen: 1},
	}, Distinct: true},
	"exact hops": {Draws: []Draw{
		{Of: Dst, Neighbors: 3, RowLen: 3},
		{Of: Hop(0), Neighbors: 2, RowLen: 3, Target: TargetLast},
	}, ExactTimes: true},
	"two of one": {Draws: []Draw{
		{Of: Src, Neighbors: 2, RowLen: 2},
		{Of: Src, Neighbors: 5, RowLen: 6},
		{Of: Dst, Neighbors: 1, RowLen: 2},
	}, Distinct: true},
}

// views indexes the same events in both ways.
func views(tb interface{ Fatal(...any) }, events []event.Event) map[string]index.View {
	live := index.NewLive()
	for _, e := range events {
		live.Add(e)
	}
	return map[string]index.View{"frozen": index.Freeze(streamtest.Log(tb, events)), "live": live}
}

// asks draws queries about nodes that occur and some that do not, at the times of events and between them.
func asks(t *rapid.T) []Query {
	node := rapid.SampledFrom([]event.Node{1, 1, 2, 2, 3, 4, 5, 6, 7, math.MaxInt32})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Query {
		return Query{node.Draw(t, "src"), node.Draw(t, "dst"), float64(rapid.IntRange(-6, 16).Draw(t, "time")) / 2, 0}
	}), 1, 40).Draw(t, "queries")
}

// TestGatherPlainly holds Gather to its rules, written down once more in the plainest way.
func TestGatherPlainly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, qs := streamtest.Few(t), asks(t)
		var b Batch
		for plan, p := range plans {
			for name, view := range views(t, events) {
				Gatherer{Threads: 2}.Gather(view, p, qs, &b)
				want := plainly(events, p, qs)
				if diff := different(&want, &b); diff != "" {
					t.Fatalf("%s, %s: %s", plan, name, diff)
				}
			}
		}
	})
}

// TestNothingFromTheFuture gathers from the whole stream and from one that ends just before the query's time.
func TestNothingFromTheFuture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkPromise(t, streamtest.Few(t), float64(rapid.IntRange(-6, 16).Draw(t, "at"))/2)
	})
}

// FuzzNothingFromTheFuture does the same on streams and moments that the fuzzer finds.
func FuzzNothingFromTheFuture(f *testing.F) {
	f.Add([]byte{}, 1.0)
	f.Add([]byte{0, 1, 6, 1, 0, 6, 0, 0, 6, 0, 1, 8}, 3.0)
	f.Add([]byte{0, 1, 9, 0, 1, 8, 0, 1, 7, 1, 0, 7, 0, 1, 6}, 4.0)
	f.Add([]byte{3, 3, 0, 3, 3, 0, 3, 3, 1, 3, 2, 1}, 0.5)
	f.Fuzz(func(t *testing.T, stream []byte, at float64) {
		if !math.IsNaN(at) {
			checkPromise(t, streamtest.Decode(stream), at)
		}
	})
}

// checkPromise asks about every pair at one time.
func checkPromise(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, events []event.Event, at event.Time) {
	var qs []Query
	for u := range event.Node(8) {
		for v := range event.Node(8) {
			qs = append(qs, Query{u, v, at, 0})
		}
	}
	whole := views(t, events)
	known := views(t, slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return e.Time >= at }))
	var got, want Batch
	for plan, p := range plans {
		for name := range whole {
			Gatherer{Threads: 2}.Gather(whole[name], p, qs, &got)
			Gatherer{Threads: 1}.Gather(known[name], p, qs, &want)
			if diff := different(&want, &got); diff != "" {
				t.Fatalf("%s, %s, at %v: depends on what comes later: %s", plan, name, at, diff)
			}
		}
	}
}

// plainly is Gather as one would explain it.
func plainly(events []event.Event, p Plan, qs []Query) Batch {
	b := Batch{Queries: qs, Rows: make([]Rows, len(p.Draws))}
	for _, q := range qs {
		if p.PairGaps > 0 {
			b.Gaps = append(b.Gaps, plainGaps(history(events, q.Src, q.Time), q, p.PairGaps)...)
		}
	}
	times := make([][]event.Time, len(p.Draws)) // of every position, as a hop takes them
	for d, draw := range p.Draws {
		var roots []meeting
		switch of := draw.Of; of {
		case Src, Dst:
			for _, q := range qs {
				roots = append(roots, meeting{[]event.Node{q.Src, q.Dst}[of], 0, q.Time})
			}
		default:
			for i, n := range b.Rows[of-hops].Node {
				roots = append(roots, meeting{n, 0, times[of-hops][i]})
			}
		}
		times[d] = plainRows(events, draw, p.ExactTimes, roots, &b.Rows[d])
	}
	if p.Counts != NoCounts {
		src, dst := &b.Rows[0], &b.Rows[1]
		for i, q := range qs {
			s, d := plainCounts(src.Node[i*src.Len:][:src.Len], dst.Node[i*dst.Len:][:dst.Len], q, p.Counts)
			src.Count, dst.Count = append(src.Count, s...), append(dst.Count, d...)
		}
	}
	if p.Distinct {
		b.Distinct = plainDistinct(&b)
	}
	return b
}

// plainRows writes a row for every root, and returns the times of all positions.
func plainRows(events []event.Event, d Draw, exact bool, roots []meeting, rows *Rows) (times []event.Time) {
	histories := make([][]meeting, len(roots))
	rows.Len = d.RowLen
	for i, r := range roots {
		if r.node != 0 {
			histories[i] = history(events, r.node, r.time)
		}
		histories[i] = histories[i][max(0, len(histories[i])-d.Neighbors):]
		if d.RowLen == 0 {
			rows.Len = max(rows.Len, len(histories[i])+1)
		}
	}
	for d.RowMultiple > 0 && rows.Len%d.RowMultiple != 0 {
		rows.Len++
	}
	for i, r := range roots {
		for _, m := range arrange(histories[i], r, rows.Len, d) {
			rows.Node, rows.Edge = append(rows.Node, m.node), append(rows.Edge, m.edge)
			rows.Time = append(rows.Time, float32(m.time))
			if !exact {
				m.time = float64(float32(m.time))
			}
			rows.Delta = append(rows.Delta, float32(r.time-m.time))
			times = append(times, m.time)
		}
	}
	return times
}

func plainDistinct(b *Batch) (d Distinct) {
	slot := func(n int32) int32 {
		at := slices.Index(d.Nodes, n)
		if at < 0 {
			at, d.Nodes = len(d.Nodes), append(d.Nodes, n)
		}
		return int32(at)
	}
	for _, q := range b.Queries {
		d.Src, d.Dst = append(d.Src, slot(q.Src)), append(d.Dst, slot(q.Dst))
	}
	for i := range b.Rows {
		for _, n := range b.Rows[i].Node {
			b.Rows[i].Slot = append(b.Rows[i].Slot, slot(n))
		}
	}
	for len(d.Nodes)%DistinctMultiple != 0 {
		d.Nodes = append(d.Nodes, 0)
	}
	return d
}

type meeting struct {
	node event.Node
	edge event.Edge
	time event.Time
}

func history(events []event.Event, n event.Node, t event.Time) (h []meeting) {
	for _, e := range events {
		if e.Time < t && e.Src == n {
			h = append(h, meeting{e.Dst, e.Edge, e.Time})
		}
		if e.Time < t && e.Dst == n {
			h = append(h, meeting{e.Src, e.Edge, e.Time})
		}
	}
	slices.SortStableFunc(h, func(a, b meeting) int { return int(2*a.time) - int(2*b.time) })
	return h
}

func arrange(h []meeting, own meeting, rowLen int, p Draw) (row []meeting) {
	row = slices.Clone(h)
	if p.Target == TargetLast {
		row = append(row, own)
	}
	if p.Target == TargetFirst && p.PadRight {
		row = slices.Insert(row, 0, own)
	}
	for len(row) < rowLen {
		switch {
		case p.PadRight:
			row = append(row, meeting{})
		case p.Target == TargetFirst && len(row) == rowLen-1:
			row = slices.Insert(row, 0, own)
		default:
			row = slices.Insert(row, 0, meeting{})
		}
	}
	return row
}

func plainGaps(src []meeting, q Query, k int) []float32 {
	var times []event.Time
	for _, m := range src {
		if m.node == q.Dst && !slices.Contains(times, m.time) {
			times = append(times, m.time)
		}
	}
	var row []float32
	for range k {
		row = append(row, 1e10)
	}
	times = append(times, q.Time)
	for i := range len(times) - 1 {
		row = append(row, float32(times[i+1]-times[i]))
	}
	return row[len(row)-k:]
}

// plainCounts follows the table of cases for the rows of u = q.Src and v = q.Dst.
func plainCounts(src, dst []int32, q Query, rule Counting) (srcCount, dstCount []int32) {
	cu, cv := map[int32]int32{}, map[int32]int32{}
	for _, x := range src {
		cu[x]++
	}
	for _, x := range dst {
		cv[x]++
	}
	u, v := q.Src, q.Dst
	if rule == PaperCounts {
		cu[u]--
		cv[v]--
	}
	special := func(x int32, own bool, met int32) (int32, int32, bool) {
		switch {
		case rule == PaperCounts && own:
			return 0, met, true
		case rule == PaperCounts && x == 0:
			return -1, -1, true
		case rule == PlainCounts && x == 0:
			return 0, 0, true
		}
		return 0, 0, false
	}
	for i, x := range src {
		a, b, ok := special(x, i == len(src)-1, cu[v])
		if !ok {
			a, b = cu[x], cv[x]
			if x == v && rule != PlainCounts {
				b = cu[v]
			}
		}
		srcCount = append(srcCount, a, b)
	}
	for i, x := range dst {
		a, b, ok := special(x, i == len(dst)-1, cv[u])
		if !ok {
			a, b = cu[x], cv[x]
			if x == u && rule != PlainCounts {
				a = cv[u]
			}
		}
		dstCount = append(dstCount, a, b)
	}
	return srcCount, dstCount
}
