package rate

import (
	"fmt"
	"sort"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// table is a draw of examples from the whole training period.
type table struct {
	events, points, ahead kept
	gen                   *rng.Source
	sweep                 *Sweep
	end                   event.Time
	times                 map[event.Node][]event.Time // of each source's events
}

// kept are examples of one kind, drawn evenly from all that were seen.
type kept struct {
	Rows
	kept, seen int
}

// Examples of a table at most.
const (
	tableEvents = 40_000
	tablePoints = 160_000
)

// newTable goes through the training period. It is nil if that was stopped.
func (f *Feed) newTable(stopped func() bool) *table {
	n := f.events.Len()
	t := &table{gen: rng.New(f.seed, fmt.Sprintf("rates of epoch %d", f.epoch)), times: map[event.Node][]event.Time{},
		sweep: NewSweep(f.events, f.clock, 2, mix(mix(f.seed, 0x7a7e), uint64(f.epoch))), end: f.events.Time[n-1]}
	for i, u := range f.events.Src {
		t.times[u] = append(t.times[u], f.events.Time[i])
	}
	t.events.reset(min(n, tableEvents))
	t.points.reset(min(4*n, tablePoints))
	t.ahead.reset(min(n, tableEvents) * aheadRows)
	for i := range n {
		if i%someEvents == 0 && stopped() {
			return nil
		}
		t.sweep.Before(f.events.Time[i], t.add)
		u := f.events.Src[i]
		if t.sweep.State.Count(u) == 0 { // a source's first event is left out
			continue
		}
		if row := t.events.place(t.gen, t.events.Len()); row >= 0 {
			t.events.set(row, t.sweep.State, u, f.events.Time[i], 0, 0, 1)
		}
	}
	return t
}

// someEvents is how many events are gone through before anyone looks whether to go on: a few milliseconds.
const someEvents = 1 << 12

// place is where the next example goes, −1 for one that is not kept: each is kept with the same probability.
func (k *kept) place(gen *rng.Source, most int) int {
	k.seen++
	if k.kept < most {
		k.kept++
		return k.kept - 1
	}
	if i := gen.Below(k.seen); i < most {
		return i
	}
	return -1
}

// add keeps a point, and looks ahead from it.
func (t *table) add(p Point) {
	if row := t.points.place(t.gen, t.points.Len()); row >= 0 {
		t.points.set(row, t.sweep.State, p.Src, p.At, 0, p.Weight, 0)
	}
	if row := t.ahead.place(t.gen, t.ahead.Len()/aheadRows); row >= 0 {
		t.lookAhead(row*aheadRows, p)
	}
}

// lookAhead describes a source from a point on: a moment of a stretch of time after it, and events of the source
// there. All stretches and all sources count about alike.
func (t *table) lookAhead(row int, p Point) {
	s := t.sweep.State
	span := s.clock.Span
	clear(t.ahead.Weight[row : row+aheadRows])
	clear(t.ahead.Count[row : row+aheadRows])
	lo, hi := stretch(t.gen.Below(stretches - 2))
	ahead := (lo + (hi-lo)*t.gen.Float64()) * span
	offset, _ := s.Offset(p.Src, p.At)
	weight := 1 / (1 + (hi-lo)*expOf(offset))
	if p.At+ahead < t.end { // silence after the end is not known
		t.ahead.set(row, s, p.Src, p.At, ahead, weight*(hi-lo), 0)
	}
	times := t.times[p.Src]
	from := sort.SearchFloat64s(times, p.At+lo*span)
	to := sort.SearchFloat64s(times, p.At+hi*span)
	found := to - from
	for i := range min(found, aheadEvents) {
		at := times[from+i]
		if found > aheadEvents {
			at = times[from+t.gen.Below(found)]
		}
		if at > p.At {
			share := float64(found) / float64(min(found, aheadEvents))
			t.ahead.set(row+1+i, s, p.Src, p.At, at-p.At, 0, weight*share)
		}
	}
}
