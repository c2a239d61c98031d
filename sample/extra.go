package sample

import (
	"errors"
	"fmt"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
)

// Extra is what a plan asks for beside histories, counts and gaps. The model that asks for it defines it, and no one
// else looks into what it finds. It may keep state from one batch to the next, such as sums over the events so far.
//
// An Extra is a pointer: a batch keeps what it found for the next Gather with the same one. It must be safe for
// concurrent use, as batches of training and of evaluation may be gathered at the same time.
type Extra interface {
	// Name names it in messages, such as "walks between nodes".
	Name() string
	// Check says why it cannot be found in a past; nil if it can.
	Check(past index.View) error
	// Bytes is about how many bytes a query takes in a batch at most. Positions are how many the rows of each draw
	// have for a query.
	Bytes(positions []float64) float64
	// NewPart makes an empty part of a batch.
	NewPart() Part
}

// Sizer is an extra that can make parts as large as they will be without finding what is in them. A plan of memory asks
// for that: it must not take as long as what it plans.
type Sizer interface {
	Extra
	Sizes() Extra // the same extra, whose parts have the right sizes and any values
}

// Warmer is an extra that keeps state over the events so far, which questions about the present need.
type Warmer interface {
	Extra
	// Warm lets the state go on to the end of a past, by at most about this many events, and says how many are left.
	Warm(past index.View, most, threads int) (left int)
	// Ready says whether a question about the end of a past need not wait until the state has gone back far, for events
	// that came late. Warm then makes another state beside the one that still answers questions about an earlier view.
	Ready(past index.View) bool
	// Derived is the same value for extras that share their state.
	Derived() any
}

// Saver is an extra whose state can be saved, so that another process goes on from there with the same events.
type Saver interface {
	Warmer
	// Save is the state that questions about the present of a past use, and how many of its first events it is of.
	// False: there is none yet. It is made into bytes by the function, which may be called later.
	Save(past index.View) (events int, parts func() map[string][]byte, ok bool)
	// Recall makes a saved state that of a past which has these events first, unless there is one already.
	Recall(past index.View, events int, parts map[string][]byte) error
}

// Replayer is an Extra that is found in a state which every event of the past changes, one after another: a query
// cannot be answered without all events before it.
type Replayer interface {
	Extra
	Replays()
}

// Replays says whether a plan has such an extra.
func Replays(p Plan) bool {
	for _, x := range p.Extras {
		if _, yes := x.(Replayer); yes {
			return true
		}
	}
	return false
}

// Part is what an Extra has found for a batch. The next Gather into the same batch uses its memory again.
type Part interface {
	// Gather fills the part. Everything else that the plan asks for is there already. As everywhere, what is found
	// for a query at t follows from the events strictly before t, and does not depend on the number of threads.
	Gather(g *Gathering)
	// Shape differs where the part's sizes do and those of the batch do not: see Batch.Shape. 0 if that never happens.
	Shape() uint64
}

// Gathering is a Gather under way, for a Part. It is valid until Part.Gather returns.
type Gathering struct {
	Past    index.View
	Plan    *Plan
	Batch   *Batch
	Threads int

	done <-chan struct{}
	work *work
}

// Stopped says that nobody wants the batch any more. What takes long asks now and then, and returns.
func (g *Gathering) Stopped() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// Parallel calls do for 0 to n−1, on several threads. Each thread has a number below Threads and gets ascending i.
func (g *Gathering) Parallel(n int, do func(thread, i int)) {
	w := g.work
	pairs := w.pairs
	w.pairs, w.extra = 0, do
	w.parallel(n, (*worker).doExtra)
	w.pairs, w.extra = pairs, nil
}

func (k *worker) doExtra(i int) { k.work.extra(k.number, i) }

// Node is the node of a query that a draw of Src or of Dst looks at.
func (r Root) Node(q Query) event.Node {
	if r == Src {
		return q.Src
	}
	return q.Dst
}

// Check says why what the plan asks for cannot be found in a past, which may be nil.
func (p *Plan) Check(past index.View) error {
	if past == nil && p.LooksBack() {
		return errors.New("the model asks for neighbours, but the pass has no past to look back on")
	}
	for _, e := range p.Extras {
		if err := e.Check(past); err != nil {
			return fmt.Errorf("the model asks for %s: %w", e.Name(), err)
		}
	}
	return nil
}

// Sizes is the plan with rows of a fixed length, the longest that any batch can ask for, and extras that tell sizes
// only.
func (p Plan) Sizes() Plan {
	p = p.AtMost()
	extras := make([]Extra, len(p.Extras))
	for i, e := range p.Extras {
		if s, ok := e.(Sizer); ok {
			e = s.Sizes()
		}
		extras[i] = e
	}
	p.Extras = extras
	return p
}

// ownedPart is the part of a batch that belongs to an extra.
type ownedPart struct {
	of   Extra
	part Part
}

// extras fills the parts of the batch.
func (w *work) extras(done <-chan struct{}) {
	b := w.batch
	b.Extras = b.Extras[:0]
	for i, e := range w.plan.Extras {
		if i == len(w.parts) {
			w.parts = append(w.parts, ownedPart{})
		}
		if w.parts[i].of != e {
			w.parts[i] = ownedPart{e, e.NewPart()}
		}
		b.Extras = append(b.Extras, w.parts[i].part)
	}
	w.gathering = Gathering{w.past, &w.plan, b, len(w.workers), done, w}
	for _, part := range b.Extras {
		part.Gather(&w.gathering)
	}
	w.gathering = Gathering{}
}
