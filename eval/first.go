package eval

import (
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/pairs"
)

// First meetings are events whose pair, in either direction, had no event strictly before. Nearly every model tells
// pairs that met before from random ones; what it has learned beyond that shows in first meetings.

// firstMeetings says of every event of a part whether its pair had no earlier one in the whole data set. Memory grows
// with the part alone.
func firstMeetings(part, full event.Span) []bool {
	var asked pairs.Table
	number := make([]int32, part.Len())
	asked.AddUnordered(part.Src, part.Dst, func(first int, numbers []int32) { copy(number[first:], numbers) })
	earliest := make([]event.Time, asked.Len())
	for i := range earliest {
		earliest[i] = math.Inf(1)
	}
	asked.FindUnordered(full.Src, full.Dst, func(first int, numbers []int32) {
		for i, pair := range numbers {
			if pair != pairs.None {
				earliest[pair] = min(earliest[pair], full.Time[first+i])
			}
		}
	})
	first := make([]bool, part.Len())
	for i, pair := range number {
		first[i] = !(earliest[pair] < part.Time[i])
	}
	return first
}

// firstInOrder is firstMeetings for a part of a log in the order of time: no table of all pairs is needed then. False:
// the part has other events, or in another order.
func firstInOrder(part, full *event.Log) ([]bool, bool) {
	some, all := part.All(), full.All()
	if !full.Sorted() || some.Len() == 0 {
		return nil, false
	}
	lo := sort.SearchFloat64s(all.Time, some.Time[0])
	again := make([]bool, all.Len()-lo) // of the events from the first of the part on
	pairs.FirstUnordered(all.Src, all.Dst, func(event, first int32) {
		if i := int(event) - lo; i >= 0 {
			again[i] = all.Time[first] < all.Time[event]
		}
	})
	first, at := make([]bool, some.Len()), lo
	for i := range first {
		for at < all.Len() && all.Edge(at) != some.Edge(i) {
			at++
		}
		if at == all.Len() {
			return nil, false
		}
		first[i] = !again[at-lo]
	}
	return first, true
}

// fewAsked is how many times fewer events a part must have than the whole data set for histories to be looked at
// instead of all events.
const fewAsked = 16

// firstIn is firstMeetings for a part of a log. Where there are histories, a few events need not go through all others.
func firstIn(part, full *event.Log) []bool {
	if part.Len() > full.Len()/fewAsked {
		if first, ok := firstInOrder(part, full); ok {
			return first
		}
	}
	if full.Index() == nil || part.Len() > full.Len()/fewAsked {
		return firstMeetings(part.All(), full.All())
	}
	first, past := make([]bool, part.Len()), index.Freeze(full)
	for i := range first {
		e := part.At(i)
		h, other := past.Before(e.Src, e.Time), e.Dst
		if back := past.Before(e.Dst, e.Time); back.Len() < h.Len() {
			h, other = back, e.Src
		}
		first[i] = !slices.Contains(h.Node, other)
	}
	return first
}

// FirstMeetings says of every event of a test part whether it is one; it looks once, when somebody first asks. Other
// parts have none: what chooses an epoch does not look at them.
func (p *Protocol) FirstMeetings(part Part) []bool {
	if p.first[part] == nil {
		return nil
	}
	return p.first[part]()
}

// findFirsts prepares FirstMeetings of a test part.
func (p *Protocol) findFirsts(part Part) {
	log, full := p.parts[part], p.whole.Full
	p.first[part] = sync.OnceValue(func() []bool { return firstIn(log, full) })
}

// firstTally collects the scores of first meetings and of their own negatives.
type firstTally struct {
	first    []bool // of each positive of the evaluation; nil: nobody asks
	seen     int    // positives so far
	pos, neg []float32
}

// add takes a batch's scores; the negatives of a positive stand len(pos) apart.
func (t *firstTally) add(pos, neg []float32) {
	if t.first == nil {
		return
	}
	for i, score := range pos {
		if !t.first[t.seen+i] {
			continue
		}
		t.pos = append(t.pos, score)
		for j := i; j < len(neg); j += len(pos) {
			t.neg = append(t.neg, neg[j])
		}
	}
	t.seen += len(pos)
}

// put writes what was found into a result: pooled over the part, no mean over batches.
func (t *firstTally) put(r *Result, m *Meter) {
	if t.first == nil {
		return
	}
	ap, auc := m.Score(t.pos, t.neg)
	n := len(t.pos)
	r.FirstAP, r.FirstAUC, r.FirstPositives = &ap, &auc, &n
}
