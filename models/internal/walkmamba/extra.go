package walkmamba

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

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
	sizes bool // tells sizes only: states are those before the first event

	states *states
}

var (
	_ sample.Sizer  = (*extra)(nil)
	_ sample.Warmer = (*extra)(nil)
)

// states are those of the pasts that were asked about last. Models with the same settings may share them.
type states struct {
	mu     sync.Mutex // guards what follows, and what of each logged is said to be
	pasts  []*logged  // the latest first
	opened uint64     // how many there have been
}

// logged is the states of a log.
type logged struct {
	mu     sync.Mutex // held while a batch is gathered; taken before that of states; guards past
	past   *walk.Past
	number uint64

	// Guarded by states.mu.
	log     *event.Log // the latest that past knows
	early   event.Time // questions from then on take few events
	reached event.Time // of the latest event that the state knows
	bytes   int
	beside  bool      // it goes back for late events, next to one that still tells what was
	told    bool      // it is that one
	asked   time.Time // when it was last taken
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
	Node   event.Node
	Window int32      // which of a bounded past's windows it is of
	At     event.Time // −Inf: before its first
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
	// once: Gather allocates nothing
	d.tasks.see, d.tasks.look, d.tasks.copyFresh, d.tasks.tell = d.see, d.look, d.copyFresh, d.tell
	return d
}

// Sizes is the extra without its states.
func (e *extra) Sizes() sample.Extra {
	dry := *e
	dry.sizes, dry.states = true, new(states)
	return &dry
}

// Warm lets the states of a past go on to its end. Where they must go back far for late events, other states do so
// beside them.
func (e *extra) Warm(past index.View, most, threads int) (left int) {
	log := past.(index.Logged).Events()
	if e.states.beyond(log) {
		return 0
	}
	e.states.fork(log)
	k := e.take(past, math.Inf(1), math.Inf(1))
	k.past.Threads = threads
	left = k.past.GoOn(most)
	e.states.give(k)
	if left == 0 {
		e.states.done(k)
	}
	return left
}

// Ready says whether a question about the end of a past need not wait until states have gone back far.
func (e *extra) Ready(past index.View) bool { return e.states.ready(past.(index.Logged).Events()) }

// Derived is what models share that share their states.
func (e *extra) Derived() any { return e.states }

// take is the states of a past, for questions between two times. The caller gives them back. A log that grows has two
// of them: those of the present, which new events belong to, and those of questions about long ago, or about a view
// that lacks late events which the present has.
func (e *extra) take(past index.View, from, to event.Time) *logged {
	if err := e.Check(past); err != nil {
		panic(err)
	}
	log, s := past.(index.Logged).Events(), e.states
	for {
		s.mu.Lock()
		k := s.choose(log, from, to)
		if k == nil {
			s.opened++
			k = &logged{log: log, past: walk.Over(log, e.options), number: s.opened, early: math.Inf(-1)}
			k.past.Live = log.Grows()
			s.pasts = append([]*logged{k}, s.pasts[:min(len(s.pasts), mostPasts-1)]...)
		}
		s.mu.Unlock()
		k.mu.Lock()
		s.mu.Lock()
		k.asked = time.Now()
		fits := k.fits(log, to) // it may have gone on meanwhile
		if fits && k.log.Len() < log.Len() {
			k.log = log
			k.past.Grow(log)
		}
		s.mu.Unlock()
		if fits {
			return k
		}
		k.mu.Unlock()
	}
}

// choose finds the states for questions of a log between two times; nil: there are none yet. The caller holds s.mu.
func (s *states) choose(log *event.Log, from, to event.Time) *logged {
	i := -1
	for j, k := range s.pasts {
		switch {
		case !k.fits(log, to) || k.beside && k.log.Len() != log.Len():
		case log.Grows() && (from < k.early || i >= 0 && !k.nearer(s.pasts[i])):
		case i < 0 || log.Grows():
			i = j
		}
	}
	if i < 0 {
		return nil
	}
	k := s.pasts[i]
	s.pasts = slices.Insert(slices.Delete(s.pasts, i, i+1), 0, k)
	sum := 0
	s.pasts = slices.DeleteFunc(s.pasts, func(x *logged) bool { // what has no room begins anew when it is asked for
		sum += x.bytes
		return sum > mostBytes && x != k && !x.beside && !x.told
	})
	return k
}

// nearer says whether states are nearer to the present than others that fit as well. Those that are on their way to the
// very log come first.
func (k *logged) nearer(other *logged) bool {
	if k.beside != other.beside {
		return k.beside
	}
	return k.reached > other.reached || k.reached == other.reached && k.log.Len() > other.log.Len()
}

// fits says whether the states can tell what a log says up to a time: they are of the same events, of fewer, or of more
// that all come later.
func (k *logged) fits(log *event.Log, to event.Time) bool {
	if log.Continues(k.log) {
		return true
	}
	if !k.log.Continues(log) {
		return false
	}
	more := k.log.Span(log.Len(), k.log.Len()).Time
	return !slices.ContainsFunc(more, func(t event.Time) bool { return t < to })
}

// beyond says whether some states know more of a log than it has itself.
func (s *states) beyond(log *event.Log) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.pasts, func(k *logged) bool { return k.log.Len() > log.Len() && k.log.Continues(log) })
}

// give gives states back.
func (s *states) give(k *logged) {
	early, reached, bytes := k.past.TimeOf(farBack), k.past.TimeOf(1), k.past.Bytes()
	s.mu.Lock()
	k.early, k.reached, k.bytes = early, reached, bytes
	s.mu.Unlock()
	k.mu.Unlock()
}

// farBack is how many events the present of a log that grows goes back for a question; mostBytes is what the states of
// all pasts may take together, unless it is one.
const (
	farBack   = 1 << 13
	mostBytes = 3 << 30
)

func (d *found) reset() {
	d.Width, d.Past = 0, 0
	d.Table, d.Of = d.Table[:0], d.Of[:0]
	d.Src, d.Dst, d.SrcAge, d.DstAge = d.Src[:0], d.Dst[:0], d.SrcAge[:0], d.DstAge[:0]
	d.Roles, d.NextItems, d.Next = d.Roles[:0], d.NextItems[:0], d.Next[:0]
}

// resize is s with n elements of any value.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
