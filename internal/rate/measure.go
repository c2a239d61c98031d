package rate

import (
	"context"
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Counts are events that were expected and that happened.
type Counts struct {
	Expected float64 `json:"expected"`
	Observed float64 `json:"observed"`
}

func (c *Counts) count(expected, observed float64) {
	c.Expected += expected
	c.Observed += observed
}

// Tally is what rates say of a period, beside what happened in it. A source's first event, and the time before it, are
// left out.
type Tally struct {
	Counts
	Logs     float64 // Σ ln λ of the events, λ per training period
	Hours    [24]Counts
	Weekdays [7]Counts // from the day of time 0 on: a Thursday where times are dates
}

// Nats is −ln of the likelihood of the events and of the silence between them, per event, with time in this unit.
func (t *Tally) Nats(c Clock, unit event.Time) float64 {
	return (t.Expected-t.Logs)/t.Observed - math.Log(unit/c.Span)
}

// Period is a part of the events.
type Period struct {
	Events event.Span // all
	Lo, Hi int        // of which these are judged, and the time from the first of them to the last
	Most   int        // how many of them at most, drawn at random; 0: all
	Points int        // in the silence between them, about
	Key    uint64     // of what is drawn
}

// Measure judges a period.
func (a *Asker) Measure(ctx context.Context, p Period) (t Tally, err error) {
	walk := NewWalk(p.Events, a.Model)
	err = a.each(ctx, p, walk, func(s *State, at event.Time, log, drift, weight, count float64) {
		t.add(a.Clock, at, log+drift, weight, count)
	})
	return t, err
}

func (t *Tally) add(c Clock, at event.Time, log, weight, count float64) {
	expected := weight * math.Exp(log)
	t.Logs += count * log
	t.count(expected, count)
	if day := c.Day; day > 0 {
		t.Hours[bin(at/day, 24)].count(expected, count)
		t.Weekdays[bin(at/(7*day), 7)].count(expected, count)
	}
}

// ChooseDrift chooses how far back the correction of rates looks: as makes a period most likely. Nats are those with
// it.
func (a *Asker) ChooseDrift(ctx context.Context, p Period, unit event.Time) (nats float64, err error) {
	choices := allDrifts(a.Clock)
	tallies := make([]Tally, len(choices))
	walk := newWalk(p.Events, a.Model, choices...)
	err = a.each(ctx, p, walk, func(s *State, at event.Time, log, _, weight, count float64) {
		for i := range choices {
			tallies[i].add(Clock{Span: a.Span}, at, log+s.drift.tracks[i].shift(a.Clock, at), weight, count)
		}
	})
	best := math.Inf(1)
	for i, d := range choices {
		x, cost := tallies[i].Nats(a.Clock, unit), 0.0
		// a correction that does not harm is kept: later on rates may differ more than in validation
		if d.Level < 0 {
			cost = 0.02
		}
		if d.Hours < 0 && a.Day > 0 {
			cost += 0.02
		}
		// one that forgets hours sooner follows later changes better: a longer memory must gain something
		for _, days := range hourMemory {
			if d.Hours >= 0 && days < hourMemory[d.Hours] {
				cost += 0.001
			}
		}
		if x+cost < best {
			best, nats, a.Drift = x+cost, x, d
		}
	}
	return nats, err
}

// each visits the events of a period, and points in the silence between them.
func (a *Asker) each(ctx context.Context, p Period, walk *Walk,
	visit func(s *State, at event.Time, log, drift, weight, count float64),
) error {
	n := p.Hi - p.Lo
	if n == 0 {
		return nil
	}
	keep := 1.0
	if p.Most > 0 {
		keep = min(1, float64(p.Most)/float64(n))
	}
	each := max(1, min(64, p.Points/(2*n)))
	perEvent := float64(p.Points) / float64(n)
	from := p.Events.Time[p.Lo]
	widest := a.widestPiece(sourcesOf(p.Events, p.Hi), p.Events.Time[p.Hi-1]-from, mostPoints)
	points := newPoints(a.Clock, each, widest, p.Key)
	for i := range p.Hi {
		u, t := p.Events.Src[i], p.Events.Time[i]
		if i == p.Lo {
			if _, err := walk.Reach(ctx, from); err != nil {
				return err
			}
		}
		for x, ok := points.next(t); ok; x, ok = points.next(t) {
			if x.At < from {
				continue
			}
			s := walk.Before(x.At)
			q := min(1, (x.Weight*s.likely(x.Src, x.At)*s.rarity(x.At)+0.002)*perEvent)
			if unit(mix(mix(p.Key, math.Float64bits(x.At)), uint64(x.Src))) < q {
				log, drift := a.log(s, x.Src, x.At, 0)
				visit(s, x.At, log, drift, x.Weight/q, 0)
			}
		}
		if i >= p.Lo && unit(mix(p.Key, uint64(i))) < keep {
			if s := walk.Before(t); s.Count(u) > 0 {
				log, drift := a.log(s, u, t, 0)
				visit(s, t, log, drift, 0, 1/keep)
			}
		}
		points.act(u, t)
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// sourcesOf is how many sources the first events have.
func sourcesOf(events event.Span, n int) int {
	known := map[event.Node]bool{}
	for _, u := range events.Src[:n] {
		known[u] = true
	}
	return len(known)
}
