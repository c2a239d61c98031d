package next

import (
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// Lists draws the short lists of a training: in place of negatives, what a model of pairs compares each event with. It
// goes through the events as their batches are drawn, which is ahead of the feed's own walk.
//
// A model that describes each node alone needs no pairs. Its queries have two candidates each, so that the source is
// described once, in the query about the event itself.
type Lists struct {
	short int
	sided bool
	setup Setup

	walk  *Walk
	view  *View
	drawn [][]event.Node // of the batch at hand: others than the destination
	round int

	mu      sync.Mutex // guards what follows
	pending map[int]listed
}

// listed is the list of an event, by its position in the training, until the feed has described it.
type listed struct {
	others []event.Node
	on     bool // the destination is on the list
}

// WithShort is the feed of a model that compares pairs as well, this many for each event.
func (f *Feed) WithShort(short int) *Feed {
	f.Short = short
	f.lists = &Lists{short: short, setup: f.setup, pending: map[int]listed{}}
	return f
}

// SetSided says whether the model describes each node alone.
func (l *Lists) SetSided(sided bool) { l.sided = sided }

// Lists are what the batches of the feed are drawn with; nil where there is no model of pairs.
func (f *Feed) Lists() *Lists { return f.lists }

func (l *Lists) begin(events event.Span) {
	l.walk, l.drawn, l.round = NewWalk(events, l.setup), nil, 0
	l.mu.Lock()
	clear(l.pending)
	l.mu.Unlock()
}

// Reset is for generators that are seeded: these lists are not drawn at random.
func (l *Lists) Reset() {}

// Rounds is how many queries there are for each event, beside the one about itself.
func (l *Lists) Rounds() int {
	if l.sided {
		return l.short / 2
	}
	return l.short - 1
}

// Rows says, for a model that describes each node alone, where the source and the candidates of n events stand among
// the descriptions of the sources of all queries and, behind them, of the destinations: [n, short] each. They are nil
// for others.
func (l *Lists) Rows(n int) (sources, candidates []int32) {
	if !l.sided {
		return nil, nil
	}
	queries := (1 + l.Rounds()) * n
	for i := range n {
		for k := range l.short {
			row := queries + i // the destination
			if k > 0 {
				row = (k+1)/2*n + i
				if k%2 == 0 {
					row += queries
				}
			}
			sources, candidates = append(sources, int32(i)), append(candidates, int32(row))
		}
	}
	return sources, candidates
}

// Draw fills out with the next of each event's list, one or two for each. Where a list is shorter, the destination
// itself takes the places that are left.
func (l *Lists) Draw(pos event.Span, out []sample.Query) {
	if l.round == 0 {
		l.list(pos)
	}
	for i := range out {
		other := func(k int) event.Node {
			if others := l.drawn[i]; k < len(others) {
				return others[k]
			}
			return pos.Dst[i]
		}
		out[i] = sample.Query{Src: pos.Src[i], Dst: other(l.round), Time: pos.Time[i]}
		if l.sided {
			out[i].Src, out[i].Dst = other(2*l.round), other(2*l.round+1)
		}
	}
	l.round = (l.round + 1) % l.Rounds()
}

// list finds the lists of a batch.
func (l *Lists) list(pos event.Span) {
	l.drawn = l.drawn[:0]
	for i := range pos.Len() {
		w := l.walk.Before(pos.Time[i]).At(l.view, pos.Src[i], pos.Time[i])
		l.view = w
		x := listed{}
		if g := w.GroupOf(pos.Dst[i]); g != New {
			x.others = w.Shortlist(nil, g, l.short)
			if at := slices.Index(x.others, pos.Dst[i]); at >= 0 {
				x.others, x.on = slices.Delete(x.others, at, at+1), true
			}
			x.others = x.others[:min(len(x.others), l.short-1)]
		}
		l.drawn = append(l.drawn, x.others)
		l.mu.Lock()
		l.pending[pos.First()+i] = x
		l.mu.Unlock()
	}
}

// take is the list of an event, which nobody asks for twice.
func (l *Lists) take(position int) listed {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.pending[position]
	delete(l.pending, position)
	return x
}

// addShort appends what a model of pairs compares an event with.
func (e *Examples) addShort(w *View, position int, dst event.Node) {
	f, listed := e.feed, 0
	if x := f.lists.take(position); x.on && len(x.others) > 0 {
		e.ShortTarget = append(e.ShortTarget, 0)
		e.Short = w.Features(e.Short, dst)
		for _, v := range x.others {
			e.Short = w.Features(e.Short, v)
		}
		listed = 1 + len(x.others)
	} else {
		e.ShortTarget = append(e.ShortTarget, -1)
	}
	for i := range f.Short {
		e.ShortMask = append(e.ShortMask, int32(flag(i < listed)))
	}
	e.Short = append(e.Short, make([]float32, (f.Short-listed)*f.Width)...)
}
