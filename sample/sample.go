// Package sample answers: what does the model get to see?
package sample

import (
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// Query asks whether Src and Dst interact at Time.
type Query struct {
	Src, Dst event.Node
	Time     event.Time
}

// Negatives draws the queries that should be answered with no, one for each positive.
type Negatives interface {
	// Draw fills out[i] with a negative for the i-th event of pos; len(out) = pos.Len().
	Draw(pos event.Span, out []Query)
	// Reset starts the draws over; every evaluation does so first.
	Reset()
}

// Picker chooses n = len(out) entries of a history that is not empty (positions into h, oldest first) and returns how many it chose.
type Picker interface {
	Pick(n event.Node, h index.History, out []int32) int
	Reset()
}

// Target says where the query's own node stands in its row.
type Target uint8

// Places of the query's own node. Its edge id is 0 and its time the query's.
const (
	NoTarget    Target = iota
	TargetFirst        // DyGFormer, TCL
	TargetLast         // DyGMamba: right after the newest neighbour
)

// Counting says how often-met neighbours are counted.
type Counting uint8

// Ways to count, at each position of both rows, how often its node occurs in the source's row and in the destination's.
const (
	NoCounts    Counting = iota
	PairCounts           // DyGMamba's released program: padding and the query's own nodes count too, and the pair counts its meetings in its own row only
	PlainCounts          // DyGFormer: 0 at padding
	PaperCounts          // DyGMamba's equations: neighbours only, the query's own node gets (0, meetings of the pair), padding (−1, −1)
)

// Plan is what a model wants gathered for each query.
type Plan struct {
	Neighbors   int      // at most so many of each node's earlier neighbours
	RowLen      int      // length of a padded row; 0: that of the longest row of its side in the batch, rounded up to a multiple of RowMultiple
	RowMultiple int      // 0 is 1
	Picker      Picker   // nil: the most recent ones
	Target      Target   //
	PadRight    bool     // padding stands after the neighbours (DyGFormer), otherwise before them
	Counts      Counting //
	PairGaps    int      // k: gaps between the pair's own past meetings, DyGMamba's time stream
	ExactTimes  bool     // Delta is taken from times as they are; otherwise they are rounded to float32 first, as in the reference programs
}

// Batch is what Gather found for n queries. Its slices are reused by the next Gather into it.
type Batch struct {
	Queries []Query
	Labels  []float32 // 1 for positives, which come first, 0 for negatives; empty when unknown. Gather leaves them as they are
	Src     Rows      // what the source had done
	Dst     Rows      // what the destination had done
	Gaps    []float32 // [n, PairGaps]: most recent last, 1e10 where there are fewer

	work *work // what Gather needs meanwhile
}

// Rows holds one side of a batch: n rows of Len positions, oldest first.
type Rows struct {
	Len   int
	Node  []int32   // [n, Len], 0 at padding
	Edge  []int32   // [n, Len], 0 at padding and at the query's own node
	Time  []float32 // [n, Len], 0 at padding, the query's own at its node
	Delta []float32 // [n, Len]: query time − Time, taken in float64; with ExactTimes before Time was rounded
	Count []int32   // [n, Len, 2]: occurrences in the source's row, in the destination's row
}
