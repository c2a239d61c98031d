package walkmamba

import (
	"fmt"
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/walk"
	"github.com/dygmamba/dygmamba/sample"
)

// extra asks for what package walk knows as of each query's time: the vectors of its two nodes, and of every position
// of the draws that look at these two, and what the two were up to. It keeps the states that it has gone through, so
// that batches in order of time cost no more than the events between them. It is safe for concurrent use.
type extra struct {
	options   walk.Options
	nodes     bool // the table, and where in it the queries' nodes stand
	neighbors bool // and where the positions of rows do
	direction bool // who was the source of each position's event
	roles     bool // what the queries' nodes were up to
	nextItem  bool // what usually follows upon what the source did last; asks for options.Follow
	// batch answers all queries from the state before the first of them, as models do whose state goes on batch by
	// batch. What is gathered for a query then depends on the others.
	batch bool

	mu     sync.Mutex
	pasts  []*logged // those that were asked about last, the latest first
	opened uint64    // how many there have been
}

var _ sample.Extra = (*extra)(nil)

// logged is the states of a log.
type logged struct {
	log    *event.Log
	past   *walk.Past
	number uint64
}

// mostPasts are the logs whose states are kept: that of training, that of evaluation, and one of someone who asks what
// would be if.
const mostPasts = 3

// found is what the extra has found for n queries.
type found struct {
	Width     int       // of a row: walk.Vectors vectors
	Table     []float32 // [rows, Width]: nodes as of their last event before a query, each state once
	Of        []state   // [rows]: whose state each is
	Past      uint64    // rows of the same state are the same in all batches that have the same Past
	Src, Dst  []int32   // [n]: rows of the queries' nodes
	SrcAge    []float32 // [n]: how much older these are than the query
	DstAge    []float32 // [n]
	Rows      []rows    // of each draw
	Roles     []float32 // [n, walk.Roles]
	NextItems []float32 // [n, walk.NextItems]
	Next      []next    // [n], where NextItems are

	extra *extra
	finder
}

// rows is what is known of the positions of a draw's rows.
type rows struct {
	Walk []int32   // [rows, Len]: the row of the position's node in the table, −1 at padding
	Age  []float32 // [rows, Len]: how much older that row is than the query
	Way  []float32 // [rows, Len]: 1 where the root was the source of the event, −1 where it was not, 0 without one
}

// next is what NextItems of a query rest on: the latest two partners of its source, the last first and negative where
// there were none, and how often its destination, and anyone, came after the last of them and after both.
type next struct {
	After      [2]event.Node
	Last, Both [2]int
}

// state is a node after one of its events.
type state struct {
	Node event.Node
	At   event.Time // −Inf: before its first
}

// foundIn is what was found for a batch whose plan asks for the extra.
func foundIn(b *sample.Batch) *found { return b.Extras[0].(*found) }

// Shape is 0: the model looks at what it uploads of the table, all else follows from the number of queries.
func (d *found) Shape() uint64 { return 0 }

// Name names it in messages.
func (e *extra) Name() string { return "walks between nodes" }

// Check says whether the events of a past are known one by one.
func (e *extra) Check(past index.View) error {
	if l, ok := past.(index.Logged); !ok || l.Events() == nil {
		return fmt.Errorf("a past of type %T does not list its events", past)
	}
	return nil
}

// Bytes is what a query takes in a table and beside the rows at most.
func (e *extra) Bytes(positions []float64) float64 {
	total, all := 4.0*(walk.Roles+walk.NextItems), 0.0
	for _, n := range positions {
		all += n
		total += 12 * n
	}
	if e.nodes || e.neighbors {
		nodes := 2.0
		if e.neighbors {
			nodes += all
		}
		// Most nodes of a batch occur in it many times.
		total += min(nodes, 16) * 4 * float64(e.options.Width())
	}
	return total
}

// NewPart makes what it finds for a batch.
func (e *extra) NewPart() sample.Part {
	d := &found{extra: e}
	d.tasks.see, d.tasks.copyFresh, d.tasks.tell = d.see, d.copyFresh, d.tell // once: Gather allocates nothing
	return d
}

// over is the states of a past, which the caller has locked.
func (e *extra) over(past index.View) *logged {
	if err := e.Check(past); err != nil {
		panic(err)
	}
	log := past.(index.Logged).Events()
	i := slices.IndexFunc(e.pasts, func(k *logged) bool { return log.Continues(k.log) })
	if i < 0 {
		i = min(len(e.pasts), mostPasts-1)
		e.opened++
		e.pasts = append(e.pasts[:i], &logged{log, walk.Over(log, e.options), e.opened})
	}
	k := e.pasts[i]
	if k.log != log {
		k.log = log
		k.past.Grow(log)
	}
	copy(e.pasts[1:], e.pasts[:i])
	e.pasts[0] = k
	return k
}

func (d *found) reset() {
	d.Width, d.Past = 0, 0
	d.Table, d.Of = d.Table[:0], d.Of[:0]
	d.Src, d.Dst, d.SrcAge, d.DstAge = d.Src[:0], d.Dst[:0], d.SrcAge[:0], d.DstAge[:0]
	d.Roles, d.NextItems, d.Next = d.Roles[:0], d.NextItems[:0], d.Next[:0]
}

// resize is s with n elements of any value.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
