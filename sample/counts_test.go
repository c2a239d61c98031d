package sample

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/event"
)

func TestCounts(t *testing.T) {
	type meetings [][2]event.Node
	symmetric := meetings{{1, 3}, {2, 4}, {2, 4}, {1, 2}, {1, 3}, {2, 3}}
	asymmetric := meetings{{1, 2}, {2, 4}, {1, 2}, {1, 3}, {2, 3}} // the first meeting is out of 2's window
	loops := meetings{{1, 1}, {1, 2}, {1, 1}}
	plan := func(neighbors, rowLen int, counts Counting) Plan {
		return Plan{Draws: Both(Draw{Neighbors: neighbors, RowLen: rowLen, Target: TargetLast}), Counts: counts}
	}
	released := func(neighbors, rowLen int) Plan { return plan(neighbors, rowLen, PairCounts) }
	equations := func(neighbors, rowLen int) Plan { return plan(neighbors, rowLen, PaperCounts) }
	first := Draw{Neighbors: 4, RowLen: 6, Target: TargetFirst, PadRight: true}
	dygformer := Plan{Draws: Both(first), Counts: PlainCounts}
	for _, c := range []struct {
		name             string
		past             meetings
		q                Query
		plan             Plan
		src, dst         []int32 // the rows
		srcWant, dstWant []int32
	}{
		{"released", symmetric, Query{1, 2, 9, 0}, released(4, 6),
			[]int32{0, 0, 3, 2, 3, 1}, []int32{0, 4, 4, 1, 3, 2},
			[]int32{2, 1, 2, 1, 2, 1, 1, 1, 2, 1, 1, 1}, []int32{2, 1, 0, 2, 0, 2, 1, 1, 2, 1, 1, 1}},
		{"released, windows differ", asymmetric, Query{1, 2, 9, 0}, released(3, 5),
			[]int32{0, 2, 2, 3, 1}, []int32{0, 4, 1, 3, 2},
			[]int32{1, 1, 2, 2, 2, 2, 1, 1, 1, 1}, []int32{1, 1, 0, 1, 1, 1, 1, 1, 2, 1}},
		{"released, loops", loops, Query{1, 2, 9, 0}, released(5, 7),
			[]int32{0, 1, 1, 2, 1, 1, 1}, []int32{0, 0, 0, 0, 0, 1, 2},
			[]int32{1, 5, 5, 1, 5, 1, 1, 1, 5, 1, 5, 1, 5, 1}, []int32{1, 5, 1, 5, 1, 5, 1, 5, 1, 5, 1, 1, 1, 1}},
		{"released, with itself", loops, Query{1, 1, 9, 0}, released(3, 5),
			[]int32{0, 2, 1, 1, 1}, []int32{0, 2, 1, 1, 1},
			[]int32{1, 1, 1, 1, 3, 3, 3, 3, 3, 3}, []int32{1, 1, 1, 1, 3, 3, 3, 3, 3, 3}},
		{"released, strangers", nil, Query{1, 2, 9, 0}, released(3, 4),
			[]int32{0, 0, 0, 1}, []int32{0, 0, 0, 2},
			[]int32{3, 3, 3, 3, 3, 3, 1, 0}, []int32{3, 3, 3, 3, 3, 3, 0, 1}},
		{"DyGFormer", symmetric, Query{1, 2, 9, 0}, dygformer,
			[]int32{1, 3, 2, 3, 0, 0}, []int32{2, 4, 4, 1, 3, 0},
			[]int32{1, 1, 2, 1, 1, 1, 2, 1, 0, 0, 0, 0}, []int32{1, 1, 0, 2, 0, 2, 1, 1, 2, 1, 0, 0}},
		{"equations", symmetric, Query{1, 2, 9, 0}, equations(4, 6),
			[]int32{0, 0, 3, 2, 3, 1}, []int32{0, 4, 4, 1, 3, 2},
			[]int32{-1, -1, -1, -1, 2, 1, 1, 1, 2, 1, 0, 1}, []int32{-1, -1, 0, 2, 0, 2, 1, 1, 2, 1, 0, 1}},
		{"equations, windows differ", asymmetric, Query{1, 2, 9, 0}, equations(3, 5),
			[]int32{0, 2, 2, 3, 1}, []int32{0, 4, 1, 3, 2},
			[]int32{-1, -1, 2, 2, 2, 2, 1, 1, 0, 2}, []int32{-1, -1, 0, 1, 1, 1, 1, 1, 0, 1}},
	} {
		var b Batch
		Gather(past(t, c.past...), c.plan, []Query{c.q}, &b)
		if diff := cmp.Diff([][]int32{c.src, c.dst}, [][]int32{b.Rows[0].Node, b.Rows[1].Node}); diff != "" {
			t.Fatalf("%s: rows: %s", c.name, diff)
		}
		if diff := cmp.Diff([][]int32{c.srcWant, c.dstWant}, [][]int32{b.Rows[0].Count, b.Rows[1].Count}); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestTallyStartsOver runs the table's round counter over its end.
func TestTallyStartsOver(t *testing.T) {
	var k tally
	row := []int32{5, 0, 5, -7, 1 << 30}
	k.add(row, nil)
	k.round = ^uint32(0) - 1
	for range 4 {
		k.add(row, row[:1])
		got := make([]int32, 2*len(row))
		k.write(got, k.place[:len(row)])
		if diff := cmp.Diff([]int32{2, 1, 1, 0, 2, 1, 1, 0, 1, 0}, got); diff != "" {
			t.Fatalf("round %d: %s", k.round, diff)
		}
	}
}
