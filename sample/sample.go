// Package sample answers: what does the model get to see?
package sample

import (
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// Query asks whether Src and Dst interact at Time: in any way, or by one kind of event.
type Query struct {
	Src, Dst event.Node
	Time     event.Time
	Kind     event.Kind // 0: whatever the kind
}

// Negatives draws the queries that should be answered with no, one for each positive.
type Negatives interface {
	// Draw fills out[i] with a negative for the i-th event of pos; len(out) = pos.Len().
	Draw(pos event.Span, out []Query)
	// Reset starts the draws over; every evaluation does so first.
	Reset()
}

// Picker chooses n = len(out) entries of a history that is not empty (positions into h, oldest first) and returns how
// many it chose.
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
	NoCounts Counting = iota
	// PairCounts are those of DyGMamba's released program: padding and the query's own nodes count too, and the pair
	// counts its meetings in its own row only.
	PairCounts
	// PlainCounts are DyGFormer's: 0 at padding.
	PlainCounts
	// PaperCounts are those of DyGMamba's equations: neighbours only, the query's own node gets (0, meetings of the
	// pair), padding (−1, −1).
	PaperCounts
)

// Root says whose past a draw looks at.
type Root int

// The two nodes of a query, at the query's time. Hop goes on from there.
const (
	Src Root = iota
	Dst
	hops
)

// Hop is every position of an earlier draw of the same plan, at the time it was met: neighbours of neighbours.
func Hop(draw int) Root { return hops + Root(draw) }

// Draw asks for a row of earlier neighbours for each of its roots.
type Draw struct {
	Of          Root
	Neighbors   int    // at most this many of the root's earlier neighbours
	RowLen      int    // length of a padded row; 0: that of the draw's longest, rounded up to a multiple of RowMultiple
	RowMultiple int    // 0 is 1
	Target      Target //
	PadRight    bool   // padding stands after the neighbours (DyGFormer), otherwise before them
}

// Both is a draw for the sources and the same one for the destinations.
func Both(d Draw) []Draw {
	src, dst := d, d
	src.Of, dst.Of = Src, Dst
	return []Draw{src, dst}
}

// Plan is what a model wants gathered for each query: a list of draws, and what is to be known of the pair. Draws of
// hops have a fixed RowLen.
type Plan struct {
	Draws    []Draw
	Picker   Picker   // chooses for all draws; nil: the most recent ones
	Counts   Counting // in the rows of the first draw of Src and of the first of Dst
	PairGaps int      // k: gaps between the pair's own past meetings, DyGMamba's time stream
	Distinct bool     // the batch's distinct nodes, for models that keep something of each node
	Extras   []Extra  // what the model itself knows how to find
	// Timeline tells which row of a table describes a node as of the query's time; nil: the one with its id.
	Timeline *Timeline

	// NegativesFirst lets the Picker choose for the negatives before the positives, as in the reference programs'
	// models with a memory.
	NegativesFirst bool
	// ByCall gathers positives and negatives as the two calls of a reference program that they were: rows without a
	// fixed length are as long as the longest of their call. What is gathered for a query then depends on the others.
	ByCall bool
	// Alone lets a Picker draw for every query from its start, as it does for one that is asked by itself.
	Alone bool
	// ExactTimes takes Delta, and the times of hops, from times as they are; otherwise they are rounded to float32
	// first, as in the reference programs. A rounded time may be later than the event, so that a hop may see what
	// happened at that very moment.
	ExactTimes bool
	// LogTimes, where it is not 0, makes Delta log(1 + LogTimes·time), and 0 at padding.
	LogTimes float64
}

// LooksBack says whether the plan asks for anything of the past.
func (p *Plan) LooksBack() bool { return len(p.Draws) > 0 || p.PairGaps > 0 || len(p.Extras) > 0 }

// Batch is what Gather found for n queries. Its slices are reused by the next Gather into it.
type Batch struct {
	Queries []Query
	// Positives says where the queries about Events end; from it on they are about what did not happen. Events are
	// empty where nobody knows what will. Gather leaves both as they are.
	Positives int
	Events    event.Span

	Rows     []Rows    // what each draw of the plan gave
	Gaps     []float32 // [n, PairGaps]: most recent last, Never where there are fewer
	Distinct Distinct
	Extras   []Part // what each extra of the plan gave
	// States are, with a Timeline, the rows of a table that describe the sources and the destinations: see
	// AppendDescribed.
	States [2][]int32
	// Calls are, with ByCall, the queries once more, in parts that were gathered together; then there are no Rows,
	// Gaps and Extras here.
	Calls []*Batch

	work  *work    // what Gather needs meanwhile
	spare []*Batch // calls of earlier batches
}

// Rows holds what a draw gave: rows of Len positions, oldest first, one for each root. Those of a hop have one for each
// position of the draw they go on from.
type Rows struct {
	Len   int
	Node  []int32   // [rows, Len], 0 at padding
	Edge  []int32   // [rows, Len], 0 at padding and at the root's own node
	Time  []float32 // [rows, Len], 0 at padding, the root's own at its node
	Delta []float32 // [rows, Len]: the root's time − Time, taken in float64; with ExactTimes before Time was rounded
	Count []int32   // [rows, Len, 2]: occurrences in the source's row, in the destination's row
	Slot  []int32   // [rows, Len]: where Node stands among the batch's distinct nodes
	State []int32   // [rows, Len], with a Timeline: the row of a table that describes Node, see Described
}

// Distinct lists the nodes that occur in a batch, each once, padding and the queries' own included. The number of nodes
// is rounded up with zeros to a multiple of DistinctMultiple, from 16,384 nodes on of a larger power of two, so that
// batches come in few sizes.
type Distinct struct {
	Nodes    []int32
	Src, Dst []int32 // [n]: where the queries' nodes stand among Nodes
}

// DistinctMultiple is what the number of distinct nodes is a multiple of.
const DistinctMultiple = 256

// manyDistinct is from where on it is a multiple of more.
const manyDistinct = 1 << 14

// Never stands for the gap before a pair's first meeting.
const Never = 1e10

// Shape tells batches apart whose sizes differ in any way: what is computed of two with the same shape goes through the
// same steps.
func (b *Batch) Shape() uint64 {
	h := shape(14695981039346656037)
	h.add(len(b.Queries), b.Positives, len(b.Gaps), len(b.Distinct.Nodes), len(b.Rows), len(b.Calls))
	for i := range b.Rows {
		h.add(b.Rows[i].Len, len(b.Rows[i].Node))
	}
	for _, part := range b.Extras {
		h = (h ^ shape(part.Shape())) * 1099511628211
	}
	for _, c := range b.Calls {
		h = (h ^ shape(c.Shape())) * 1099511628211
	}
	return uint64(h)
}

// shape is an FNV-1a hash of sizes.
type shape uint64

func (h *shape) add(sizes ...int) {
	for _, n := range sizes {
		for range 8 {
			*h = (*h ^ shape(n&255)) * 1099511628211
			n >>= 8
		}
	}
}
