package predict

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/nn"
	"github.com/dygmamba/dygmamba/tensor"
)

// Past is a data set's events and all that come in after them. One goroutine at a time adds; any number of others look
// at it meanwhile, and never wait: each at a PastView, which stays as it is.
type Past struct {
	width int // features of an event
	log   *event.Log
	live  *index.Live
	first event.Edge // the id of the first event that comes in
	rows  []float32  // features of the events that came in, from number zeros on; those before have none
	zeros int        // …
	last  event.Time // the latest of all
	now   atomic.Pointer[PastView]
}

// NewPast begins with the events of a set, which stays as it is.
func NewPast(set *dataset.Set) *Past { return newPast(set.Log, set) }

// roomShare says for how many events there is room at the beginning: one for this many that are there.
const roomShare = 16

// newPast begins with the events of a log; the set, which may be nil, says which features events have.
func newPast(log *event.Log, set *dataset.Set) *Past {
	p := &Past{log: log.Part(0, log.Len()), live: index.Continue(index.Freeze(log)), last: math.Inf(-1)}
	if set != nil {
		p.width = set.Edge.Cols
	}
	p.log.Expect(log.Len()/roomShare + 1024) // the first event need not wait until all others are copied
	next, all := p.log.Len(), p.log.All()
	for i, at := range all.Time {
		next = max(next, int(all.Edge(i)))
		p.last = max(p.last, at)
	}
	p.first = event.Edge(next + 1)
	p.show()
	return p
}

// Add takes new events in the order in which they come, which need not be that of their times. Their ids go on from
// those that are there. Features may be nil, or nil for some of them. Nothing is taken if one of them is not valid.
func (p *Past) Add(events []event.Event, features [][]float32) error {
	for i, e := range events {
		if err := e.Check(); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		if features != nil && features[i] != nil && len(features[i]) != p.width {
			return fmt.Errorf("event %d has %d features, must have %d", i, len(features[i]), p.width)
		}
	}
	if n := int64(p.first) + int64(p.arrived()+len(events)); n > math.MaxInt32 {
		return fmt.Errorf("%w: number %d, a log holds at most %d events", event.ErrInvalid, n, math.MaxInt32)
	}
	for i, e := range events {
		number := p.arrived()
		e.Edge = p.first + event.Edge(number)
		if _, err := p.log.Append(e); err != nil {
			panic(err) // it was checked
		}
		has := features != nil && features[i] != nil
		if has && p.rows == nil {
			p.zeros = number
		}
		switch {
		case has:
			p.rows = append(p.rows, features[i]...)
		case p.rows != nil:
			p.rows = append(p.rows, make([]float32, p.width)...)
		}
		p.live.Add(e)
		p.last = max(p.last, e.Time)
	}
	p.show()
	return nil
}

// Expect makes room for events that are to come between these nodes, so that many of them are added faster.
func (p *Past) Expect(src, dst []event.Node) {
	var counts []int32
	for _, list := range [][]event.Node{src, dst} {
		for _, n := range list {
			if int(n) >= len(counts) {
				counts = append(counts, make([]int32, int(n)+1-len(counts))...)
			}
			counts[n]++
		}
	}
	p.ExpectCounts(counts, len(src))
}

// ExpectCounts makes room for events that are to come, given how often each node will occur in them.
func (p *Past) ExpectCounts(counts []int32, events int) {
	p.live.Expect(counts)
	p.log.Expect(events)
}

func (p *Past) arrived() int { return p.log.Len() - p.now.Load().known }

// Now is the past as it is.
func (p *Past) Now() *PastView { return p.now.Load() }

// show lets readers see what there is.
func (p *Past) show() {
	m := &PastView{known: p.log.Len(), first: p.first, width: p.width, log: p.log.Now(), last: p.last, rows: p.rows,
		zeros: p.zeros}
	if was := p.now.Load(); was != nil {
		m.known = was.known
	}
	m.view = p.live.AsOf(m.lastEdge(), m.log)
	p.now.Store(m)
}

// PastView is a past with the events that it had when Now was called. Any number of goroutines may use it.
type PastView struct {
	known int        // events of the data set
	first event.Edge // that came in after them
	width int
	log   *event.Log
	view  index.View
	last  event.Time
	rows  []float32
	zeros int
}

// Len is the number of events, those of the data set included.
func (m *PastView) Len() int { return m.log.Len() }

// Known is how many of the events are the data set's own: they come first.
func (m *PastView) Known() int { return m.known }

// Events are all of them, in the order in which they came.
func (m *PastView) Events() event.Span { return m.log.All() }

// Last is the time of the latest event, −Inf if there is none.
func (m *PastView) Last() event.Time { return m.last }

// Before is what a node had done strictly before a time, oldest first.
func (m *PastView) Before(n event.Node, t event.Time) index.History { return m.view.Before(n, t) }

// NumNodes is 1 + the largest node id that occurs.
func (m *PastView) NumNodes() int { return m.log.NumNodes() }

// Features are those of the i-th event that came in after the data set's, nil if it has none.
func (m *PastView) Features(i int) []float32 {
	if m.rows == nil || i < m.zeros {
		return nil
	}
	return m.rows[(i-m.zeros)*m.width : (i-m.zeros+1)*m.width]
}

// lastEdge is the id of the event that came last.
func (m *PastView) lastEdge() event.Edge { return m.first + event.Edge(m.log.Len()-m.known) - 1 }

// Look lets the predictor answer from a view of a past that began with its data set. For a model that remembers each
// view is as new as the one before, or newer.
func (p *Predictor) Look(m *PastView) error {
	if m.log == p.log {
		return nil
	}
	if p.stream != nil {
		if err := tensor.Guard(func() { p.stream.room(m.NumNodes()) }); err != nil {
			return fmt.Errorf("make room for %d nodes: %w", m.NumNodes(), err)
		}
	}
	if err := p.learnFeatures(m); err != nil {
		return fmt.Errorf("make room for the features of %d events: %w", m.Len(), err)
	}
	p.log, p.past = m.log, m.view
	if p.stream != nil {
		p.stream.grow(p.log, p.past)
	}
	return nil
}

// learnFeatures gives the model the features of the events that came in.
func (p *Predictor) learnFeatures(m *PastView) error {
	f := p.features
	if f == nil || f.Cols() == 0 || m.width == 0 && p.kinds == 0 {
		return nil
	}
	was := f.Moves()
	err := tensor.Guard(func() {
		from, last := f.Rows()-int(m.first), int(m.lastEdge()-m.first) // by number, of those that came in
		switch {
		case from > last:
		case p.kinds > 0:
			m.growWithKinds(f, p.kinds, from, last)
		case m.rows == nil || last < m.zeros:
			f.Grow(nil, last+1-from)
		default:
			if from < m.zeros {
				f.Grow(nil, m.zeros-from)
				from = m.zeros
			}
			f.Grow(m.rows[(from-m.zeros)*m.width:(last+1-m.zeros)*m.width], last+1-from)
		}
	})
	if err == nil && f.Moves() != was { // steps that were recorded read the old place
		p.renewScorer()
	}
	return err
}

// growWithKinds adds the features and kinds of the events from … last that came in to a table.
func (m *PastView) growWithKinds(f *nn.Features, kinds model.Kinds, from, last int) {
	var rows []float32
	came := m.log.Span(m.known, m.log.Len())
	for i := from; i <= last; i++ {
		kind, features := event.Kind(0), []float32(nil)
		if i >= 0 {
			kind, features = came.Kind(i), m.Features(i)
		}
		rows = kinds.AppendRow(rows, features, m.width, kind)
	}
	f.Grow(rows, last+1-from)
}

// renewScorer forgets recorded steps. What the model remembers stays.
func (p *Predictor) renewScorer() {
	p.scorer.Close()
	p.scorer = model.NewScorerWith(p.model, p.head)
	if p.stream != nil {
		p.stream.memory = p.scorer.Scorer().(model.StatefulScorer)
	}
	if p.tape != nil {
		p.tape.Close()
		p.tape = nil
	}
}

// noteFeatures keeps the table of the events' features, which grows with them.
func (p *Predictor) noteFeatures(_, edge *nn.Features, kinds model.Kinds) {
	p.features, p.kinds = edge, kinds
}

// FeatureRows are those of all events that came in after the data set's, but for the first zeros of them, which have
// none. Nil: none has any.
func (m *PastView) FeatureRows() (rows []float32, zeros int) { return m.rows, m.zeros }
