package sample_test

import (
	"fmt"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/sample"
)

// What DyGMamba sees of nodes 1 and 2 at time 10: their neighbours on the right, themselves last, and the gaps between
// their meetings.
func ExampleGather() {
	past := index.NewLive()
	for i, e := range []event.Event{{Src: 1, Dst: 2, Time: 1}, {Src: 1, Dst: 3, Time: 3}, {Src: 2, Dst: 1, Time: 4}} {
		e.Edge = event.Edge(i + 1)
		past.Add(e)
	}
	row := sample.Draw{Neighbors: 3, RowLen: 5, Target: sample.TargetLast}
	plan := sample.Plan{Draws: sample.Both(row), PairGaps: 3}
	var b sample.Batch
	sample.Gather(past, plan, []sample.Query{{Src: 1, Dst: 2, Time: 10}}, &b)
	fmt.Println(b.Rows[0].Node, b.Rows[0].Edge, b.Rows[0].Delta)
	fmt.Println(b.Rows[1].Node, b.Rows[1].Edge, b.Rows[1].Delta)
	fmt.Println(b.Gaps)
	// Output:
	// [0 2 3 2 1] [0 1 2 3 0] [10 9 7 6 0]
	// [0 0 1 1 2] [0 0 1 3 0] [10 10 9 6 0]
	// [1e+10 3 6]
}
