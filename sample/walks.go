package sample

import (
	"fmt"
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/walk"
)

// Walks asks for what package walk knows as of each query's time: the vectors of its two nodes, and of every position
// of the draws that look at these two, and what the two were up to. It keeps the states that it has gone through, so
// that batches in order of time cost no more than the events between them. It is safe for concurrent use.
type Walks struct {
	Options   walk.Options
	Nodes     bool // the table, and where in it the queries' nodes stand
	Neighbors bool // and where the positions of rows do
	Direction bool // who was the source of each position's event
	Roles     bool // what the queries' nodes were up to
	Sequels   bool // what usually follows upon what the source did last; asks for Options.Follow
	// Batch answers all queries from the state before the first of them, as models do whose state goes on batch by
	// batch. What is gathered for a query then depends on the others.
	Batch bool

	mu     sync.Mutex
	pasts  []*logged // those that were asked about last, the latest first
	opened uint64    // how many there have been
}

// logged is the states of a log.
type logged struct {
	log    *event.Log
	past   *walk.Past
	number uint64
}

// mostPasts are the logs whose states are kept: that of training, that of evaluation, and one of someone who asks what
// would be if.
const mostPasts = 3

// Walked is what Walks has found for n queries.
type Walked struct {
	Width    int       // of a row: walk.Vectors vectors
	Table    []float32 // [rows, Width]: nodes as of their last event before a query, each state once
	Of       []State   // [rows]: whose state each is
	Past     uint64    // rows of the same state are the same in all batches that have the same Past
	Src, Dst []int32   // [n]: rows of the queries' nodes
	SrcAge   []float32 // [n]: how much older these are than the query
	DstAge   []float32 // [n]
	Roles    []float32 // [n, walk.Roles]
	Sequels  []float32 // [n, walk.Sequels]
	Next     []Next    // [n], where Sequels are
}

// Next is what Sequels of a query rest on: the latest two partners of its source, the last first and negative where
// there were none, and how often its destination, and anyone, came after the last of them and after both.
type Next struct {
	After      [2]event.Node
	Last, Both [2]int
}

// State is a node after one of its events.
type State struct {
	Node event.Node
	At   event.Time // −Inf: before its first
}

// Listed says why the walks of a past cannot be told: nobody knows its events one by one.
func Listed(past index.View) error {
	if l, ok := past.(index.Logged); !ok || l.Events() == nil {
		return fmt.Errorf("the model asks for walks between nodes, and a past of type %T does not list its events",
			past)
	}
	return nil
}

// bytes is what a query takes in a table at most, where the draws have so many positions for each.
func (s *Walks) bytes(each []float64) float64 {
	total := 4.0 * (walk.Roles + walk.Sequels)
	if s.Nodes || s.Neighbors {
		nodes := 2.0
		if s.Neighbors {
			for _, n := range each {
				nodes += n
			}
		}
		// Most nodes of a batch occur in it many times.
		total += min(nodes, 16) * 4 * float64(s.Options.Width())
	}
	return total
}

// over is the states of a past, which the caller has locked.
func (s *Walks) over(past index.View) *logged {
	if err := Listed(past); err != nil {
		panic(err)
	}
	log := past.(index.Logged).Events()
	i := slices.IndexFunc(s.pasts, func(k *logged) bool { return log.Continues(k.log) })
	if i < 0 {
		i = min(len(s.pasts), mostPasts-1)
		s.opened++
		s.pasts = append(s.pasts[:i], &logged{log, walk.Over(log, s.Options), s.opened})
	}
	k := s.pasts[i]
	if k.log != log {
		k.log = log
		k.past.Grow(log)
	}
	copy(s.pasts[1:], s.pasts[:i])
	s.pasts[0] = k
	return k
}

func (d *Walked) reset() {
	d.Width, d.Past = 0, 0
	d.Table, d.Of = d.Table[:0], d.Of[:0]
	d.Src, d.Dst, d.SrcAge, d.DstAge = d.Src[:0], d.Dst[:0], d.SrcAge[:0], d.DstAge[:0]
	d.Roles, d.Sequels, d.Next = d.Roles[:0], d.Sequels[:0], d.Next[:0]
}
