package rate

import (
	"fmt"
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/sample"
)

// Feed makes the examples of training batches: events, points in the silence between them, and what came after such
// points. Neighbouring events are alike, and a network that learns of them one after another forgets the hours before;
// so examples come from a table that is drawn from the whole training period at the beginning of every epoch. What is
// drawn depends on the seed, the epoch and the first event of a batch alone.
type Feed struct {
	clock Clock
	seed  uint64

	mu     sync.Mutex // guards what follows
	epoch  int
	events event.Span
	table  *table // of the epoch; nil: not drawn yet
}

// NewFeed makes the feed of a training.
func NewFeed(c Clock, seed uint64) *Feed {
	return &Feed{clock: NewState(c).clock, seed: seed}
}

// Clock is that of the data.
func (f *Feed) Clock() Clock { return f.clock }

// Begin says which epoch the next batches belong to, and what they are batches of: the training events, in the order of
// time.
func (f *Feed) Begin(epoch int, events event.Span) {
	f.mu.Lock()
	f.epoch, f.events, f.table = epoch, events, nil
	f.mu.Unlock()
}

// Name names the feed in messages.
func (f *Feed) Name() string { return "times of earlier events" }

// Check has no objections: a feed looks at its own events.
func (f *Feed) Check(index.View) error { return nil }

// Bytes is what an event takes.
func (f *Feed) Bytes([]float64) float64 {
	return float64(4 * (Width + terms) * (1 + pointsPerEvent + aheadRows))
}

// NewPart makes an empty part of a batch.
func (f *Feed) NewPart() sample.Part { return &Examples{feed: f} }

const (
	pointsPerEvent = 4 // of a batch
	aheadEvents    = 2 // later events at most that are looked at from a point
	aheadRows      = 1 + aheadEvents
	terms          = 4 // Offset, Bound, Weight, Count
)

// Rows are examples of a network for the logarithm of a rate. The loss is Σ Weight·λ − Count·ln λ, with
// ln λ = Log(output + Offset, Bound).
type Rows struct {
	X                            []float32 // [n, Width]
	Offset, Bound, Weight, Count []float32 // [n]
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Offset) }

func (r *Rows) reset(n int) {
	r.X = slices.Grow(r.X[:0], n*Width)[:n*Width]
	clear(r.X)
	for _, list := range []*[]float32{&r.Offset, &r.Bound, &r.Weight, &r.Count} {
		*list = slices.Grow((*list)[:0], n)[:n]
		clear(*list)
	}
}

// set writes a row; rows that are not written count nothing.
func (r *Rows) set(i int, s *State, u event.Node, at, ahead event.Time, weight, count float64) {
	s.Features(r.X[i*Width:i*Width:(i+1)*Width], u, at, ahead)
	offset, bound := s.Offset(u, at)
	if ahead > 0 {
		bound = offset + aheadBound
	}
	r.Offset[i], r.Bound[i], r.Weight[i], r.Count[i] = float32(offset), float32(bound), float32(weight), float32(count)
}

// copy writes rows of another list.
func (r *Rows) copy(to int, from *Rows, row, n int) {
	copy(r.X[to*Width:], from.X[row*Width:(row+n)*Width])
	copy(r.Offset[to:], from.Offset[row:row+n])
	copy(r.Bound[to:], from.Bound[row:row+n])
	copy(r.Weight[to:], from.Weight[row:row+n])
	copy(r.Count[to:], from.Count[row:row+n])
}

// Examples are what a feed has drawn for a batch of n events.
type Examples struct {
	Now   Rows // [n·(1+pointsPerEvent)]: events, then points
	Ahead Rows // [n·aheadRows]: points and what came later

	feed *Feed
}

// Shape is always 0: sizes depend on the number of events alone.
func (e *Examples) Shape() uint64 { return 0 }

// Gather draws from the table. Events and silence have the weights that they have in the likelihood of one event.
func (e *Examples) Gather(g *sample.Gathering) {
	f, n := e.feed, g.Batch.Events.Len()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.table == nil {
		f.table = f.newTable(g.Stopped)
	}
	t := f.table
	if t == nil { // nobody waits for it
		return
	}
	gen := rng.New(f.seed, fmt.Sprintf("rates of epoch %d from event %d", f.epoch, g.Batch.Events.First()))
	e.Now.reset(n * (1 + pointsPerEvent))
	e.Ahead.reset(n * aheadRows)
	if t.events.kept == 0 || t.points.kept == 0 {
		return
	}
	stands := float32(t.points.seen) / float32(t.events.seen) / pointsPerEvent
	for i := range n {
		e.Now.copy(i, &t.events.Rows, gen.Below(t.events.kept), 1)
		e.Ahead.copy(i*aheadRows, &t.ahead.Rows, gen.Below(t.ahead.kept)*aheadRows, aheadRows)
		for k := range pointsPerEvent {
			row := n + i*pointsPerEvent + k
			e.Now.copy(row, &t.points.Rows, gen.Below(t.points.kept), 1)
			e.Now.Weight[row] *= stands
		}
	}
}
