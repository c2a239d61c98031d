package next

import (
	"fmt"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/sample"
)

// Feed makes the examples of training batches. It goes through the training events as their batches come, and begins
// again with every epoch. What it draws depends on the seed, the epoch and the first event of a batch alone.
type Feed struct {
	Columns     int // candidates of an example: the destination itself and those that it is held against
	Width       int // features of a candidate
	SourceWidth int // features of a source
	Short       int // candidates that a model of pairs compares; 0: there is none

	setup Setup
	seed  uint64
	mu    sync.Mutex // guards what follows
	epoch int
	walk  *Walk
	view  *View
	drawn []Candidate
	lists *Lists // of a feed with Short
}

// NewFeed makes the feed of a training.
func NewFeed(setup Setup, candidates int, seed uint64) *Feed {
	return &Feed{Columns: 1 + candidates, Width: setup.Width(), SourceWidth: setup.SourceWidth(), setup: setup,
		seed: seed}
}

// Begin says which epoch the next batches belong to, and what they are batches of: the training events, in the order of
// time.
func (f *Feed) Begin(epoch int, events event.Span) {
	f.mu.Lock()
	f.epoch, f.walk = epoch, NewWalk(events, f.setup)
	if f.lists != nil {
		f.lists.begin(events)
	}
	f.mu.Unlock()
}

// Name names the feed in messages.
func (f *Feed) Name() string { return "counts of earlier events" }

// Check has no objections: a feed looks at its own events.
func (f *Feed) Check(index.View) error { return nil }

// Bytes is what an example takes.
func (f *Feed) Bytes([]float64) float64 {
	return float64(4 * (f.Columns*(f.Width+2) + f.Short*(f.Width+1) + f.SourceWidth + Groups + 3))
}

// NewPart makes an empty part of a batch.
func (f *Feed) NewPart() sample.Part { return &Examples{feed: f} }

// Examples are what a feed has found for the n events of a batch.
type Examples struct {
	X []float32 // [n, Columns, Width]: features of candidates, the destination's first; 0 where there are fewer
	// MinusLogQ is [n, Columns]: −ln of how likely each was to be drawn
	MinusLogQ []float32
	Mask      []int32 // [n, Columns]: 0 where there is no candidate
	Target    []int32 // [n]: the column of the destination, 0; −1 for a new one, which has no candidates

	Source   []float32 // [n, SourceWidth]
	Possible []int32   // [n, Groups]: 0 for groups without candidates
	Group    []int32   // [n]: which it was

	// What a model of pairs compares, where there is one: the destination, then others of the list of its group.
	Short       []float32 // [n, Feed.Short, Width]: features, 0 where there are fewer
	ShortMask   []int32   // [n, Feed.Short]: 0 where there is nobody
	ShortTarget []int32   // [n]: 0; −1 where the destination is not on the list

	feed *Feed
}

// Shape is always 0: sizes depend on the number of events alone.
func (e *Examples) Shape() uint64 { return 0 }

// Gather describes the events of a batch and draws candidates for them.
func (e *Examples) Gather(g *sample.Gathering) {
	f, events := e.feed, g.Batch.Events
	e.reset()
	if events.Len() == 0 { // a question, of which nothing is learned
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	gen := rng.New(f.seed, fmt.Sprintf("candidates of epoch %d from event %d", f.epoch, events.First()))
	if !f.walk.reach(events.Time[0], g.Stopped) {
		return
	}
	for i := range events.Len() {
		e.add(f.walk.Before(events.Time[i]), events.Src[i], events.Dst[i], events.Time[i], gen)
		if f.Short > 0 {
			e.addShort(f.view, events.First()+i, events.Dst[i])
		}
	}
}

func (e *Examples) reset() {
	e.X, e.MinusLogQ, e.Mask, e.Target = e.X[:0], e.MinusLogQ[:0], e.Mask[:0], e.Target[:0]
	e.Source, e.Possible, e.Group = e.Source[:0], e.Possible[:0], e.Group[:0]
	e.Short, e.ShortMask, e.ShortTarget = e.Short[:0], e.ShortMask[:0], e.ShortTarget[:0]
}

// add appends one example.
func (e *Examples) add(c *Counts, src, dst event.Node, at event.Time, gen *rng.Source) {
	f := e.feed
	w := c.At(f.view, src, at)
	f.view = w
	e.Source = w.Source(e.Source)
	for _, possible := range w.Possible() {
		e.Possible = append(e.Possible, int32(flag(possible)))
	}
	group := w.GroupOf(dst)
	e.Group = append(e.Group, int32(group))
	f.drawn = f.drawn[:0]
	if group == New {
		e.Target = append(e.Target, -1)
	} else {
		e.Target = append(e.Target, 0)
		f.drawn = w.Draw(f.drawn, dst, f.Columns-1, gen)
	}
	for _, x := range f.drawn {
		e.X = w.Features(e.X, x.Node)
		e.MinusLogQ = append(e.MinusLogQ, -x.LogQ)
		e.Mask = append(e.Mask, 1)
	}
	for range f.Columns - len(f.drawn) {
		e.X = append(e.X, make([]float32, f.Width)...)
		e.MinusLogQ = append(e.MinusLogQ, 0)
		e.Mask = append(e.Mask, 0)
	}
}
