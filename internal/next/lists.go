package next

import (
	"slices"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/sample"
)

// Lists draws the short lists of a training: in place of negatives, what a model of pairs compares each event with. It
// goes through the events as their batches are drawn, which is ahead of the feed's own walk.
type Lists struct {
	short int
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

// Draw fills out with one more of each event's list. Short−1 rounds make a batch. Where a list is shorter, the
// destination itself takes the places that are left.
func (l *Lists) Draw(pos event.Span, out []sample.Query) {
	if l.round == 0 {
		l.list(pos)
	}
	for i := range out {
		v := pos.Dst[i]
		if others := l.drawn[i]; l.round < len(others) {
			v = others[l.round]
		}
		out[i] = sample.Query{Src: pos.Src[i], Dst: v, Time: pos.Time[i]}
	}
	l.round = (l.round + 1) % (l.short - 1)
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
