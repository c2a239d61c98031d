package rate

import (
	"context"
	"sort"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// Rows are examples of the logarithm of a rate, ln λ = Offset + what is learned. The loss is Σ Weight·λ − Count·ln λ:
// events have a count, points in the silence between them a weight.
type Rows struct {
	X                     []float32 // [n, Width]
	Offset, Weight, Count []float32 // [n]
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Offset) }

func (r *Rows) add(s *State, u event.Node, at, ahead event.Time, weight, count float64) {
	r.X = s.Features(r.X, u, at, ahead)
	r.Offset = append(r.Offset, float32(s.Offset(u, at, ahead)))
	r.Weight = append(r.Weight, float32(weight))
	r.Count = append(r.Count, float32(count))
}

// drawer draws examples from a part of the events.
type drawer struct {
	events     event.Span
	lo, hi     int
	most       int // events, and about as many base points of examples ahead
	clock      Clock
	key        uint64
	now, ahead Rows

	gen   *rng.Source
	keep  float64 // share of the events
	per   float64 // points in the silence for every event, about
	each  int
	times map[event.Node][]event.Time // of each source's events
}

// pointsPerEvent is how many points in the silence stand beside an event of a table, about.
const pointsPerEvent = 2.5

// draw goes through the events. Those before the part are known.
func (d *drawer) draw(ctx context.Context) error {
	n := d.hi - d.lo
	d.keep = min(1, float64(d.most)/float64(n))
	d.per = min(20, pointsPerEvent*float64(d.most)/float64(n))
	d.each = max(1, min(20, int(d.per)))
	d.gen = rng.New(d.key, "examples of rates")
	d.times = map[event.Node][]event.Time{}
	for i := d.lo; i < d.hi; i++ {
		d.times[d.events.Src[i]] = append(d.times[d.events.Src[i]], d.events.Time[i])
	}
	from := d.events.Time[d.lo]
	widest := d.clock.widestPiece(len(d.times), d.events.Time[d.hi-1]-from, mostPoints)
	walk, points := NewWalk(d.events, Plain(d.clock)), newPoints(d.clock, d.each, widest, d.key)
	for i := range d.hi {
		u, t := d.events.Src[i], d.events.Time[i]
		if i == d.lo {
			if _, err := walk.Reach(ctx, from); err != nil {
				return err
			}
		}
		for p, ok := points.next(t); ok; p, ok = points.next(t) {
			if p.At >= from {
				d.point(walk.Before(p.At), p)
			}
		}
		if i >= d.lo {
			if s := walk.Before(t); s.Count(u) > 0 && d.gen.Float64() < d.keep { // not a source's first event
				d.now.add(s, u, t, 0, 0, 1)
			}
		}
		points.act(u, t)
		if i%512 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// point keeps a point, the rather the more events are expected there, and looks ahead from it.
func (d *drawer) point(s *State, p Point) {
	const least = 0.01
	expected := p.Weight*s.likely(p.Src, p.At) + least
	if q := min(1, expected*d.per); d.gen.Float64() < q {
		d.now.add(s, p.Src, p.At, 0, p.Weight*d.keep/q, 0)
	}
	// half of the base points like these ones, which are mostly soon after an action, half evenly in time
	n, period := float64(d.hi-d.lo), (d.events.Time[d.hi-1]-d.events.Time[d.lo])/d.clock.Span
	like := 1 / (n * float64(d.each) * 6)
	evenly := p.Weight / (float64(s.known) * period)
	if d.gen.Float64() < float64(d.most)/2*(like+evenly) {
		d.lookAhead(s, p)
	}
}

// lookAhead describes a source from a point on: a moment of a stretch of time after it, and events of the source
// there. All stretches and all sources count about alike.
func (d *drawer) lookAhead(s *State, p Point) {
	span := d.clock.Span
	lo, hi := stretch(d.gen.Below(stretches - 2))
	ahead := (lo + (hi-lo)*d.gen.Float64()) * span
	end := d.events.Time[d.hi-1]
	if p.At+lo*span >= end { // nothing is known of that time
		return
	}
	weight := 1 / (1 + (hi-lo)*s.lately(p.Src, p.At))
	if ahead = s.lattice.up(p.At+ahead) - p.At; p.At+ahead < end { // silence after the end is not known
		d.ahead.add(s, p.Src, p.At, ahead, weight*(hi-lo), 0)
	}
	times := d.times[p.Src]
	from := sort.SearchFloat64s(times, p.At+lo*span)
	to := sort.SearchFloat64s(times, p.At+hi*span)
	const events = 2 // that are looked at, at most
	found := to - from
	for i := range min(found, events) {
		at := times[from+i]
		if found > events {
			at = times[from+d.gen.Below(found)]
		}
		if at > p.At {
			d.ahead.add(s, p.Src, p.At, at-p.At, 0, weight*float64(found)/float64(min(found, events)))
		}
	}
}
