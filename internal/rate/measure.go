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

// Tally is what rates say of a period, beside what happened in it. A source's first event, and the time before it, are
// left out.
type Tally struct {
	Counts
	Logs     float64 // Σ ln λ of the events, λ per training period
	Kept     float64 // share of the events, and of the silence, that was looked at
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
	Points int        // in each of the stretches of time after all its actions, at least one after each
	Key    uint64     // of what is drawn
}

// Measure judges a period.
func (a *Asker) Measure(ctx context.Context, p Period, c Clock) (Tally, error) {
	m := measure{Asker: a, clock: c, keep: 1}
	if n := p.Hi - p.Lo; n == 0 {
		return m.tally, nil
	} else if p.Most > 0 && n > p.Most {
		m.keep = float64(p.Most) / float64(n)
	}
	m.tally.Kept = m.keep
	sweep := NewSweep(p.Events, c, max(1, min(256, p.Points/(p.Hi-p.Lo))), p.Key)
	sweep.Before(p.Events.Time[p.Lo], nil)
	a.begin(false)
	visit := func(x Point) {
		if m.kept(mix(p.Key, math.Float64bits(x.At)) ^ uint64(x.Src)) {
			m.add(sweep.State, x.Src, x.At, x.Weight/m.keep, 0)
		}
	}
	for i := p.Lo; i < p.Hi; i++ {
		sweep.Before(p.Events.Time[i], visit)
		if u := p.Events.Src[i]; sweep.State.Count(u) > 0 && m.kept(mix(p.Key, uint64(i))) {
			m.add(sweep.State, u, p.Events.Time[i], 0, 1/m.keep)
		}
		if m.full() {
			if err := m.flush(); err != nil {
				return m.tally, err
			}
			if err := ctx.Err(); err != nil {
				return m.tally, err
			}
		}
	}
	return m.tally, m.flush()
}

// measure adds up a tally, many rows at a time.
type measure struct {
	*Asker
	clock Clock
	keep  float64 // share of events and points that are looked at
	rows  []measured
	tally Tally
}

type measured struct {
	at            event.Time
	weight, count float64
}

func (m *measure) kept(h uint64) bool { return m.keep == 1 || unit(mix(h, 0x5eed)) < m.keep }

func (m *measure) full() bool { return len(m.rows) >= 4096 }

func (m *measure) add(s *State, u event.Node, at event.Time, weight, count float64) {
	m.Asker.add(s, u, at, 0)
	m.rows = append(m.rows, measured{at, weight, count})
}

func (m *measure) flush() error {
	logs, err := m.logs()
	if err != nil {
		return err
	}
	for i, r := range m.rows {
		x := float64(logs[i])
		expected := r.weight * math.Exp(x)
		m.tally.Logs += r.count * x
		m.tally.count(expected, r.count)
		if day := m.clock.Day; day > 0 {
			m.tally.Hours[bin(r.at/day, 24)].count(expected, r.count)
			m.tally.Weekdays[bin(r.at/(7*day), 7)].count(expected, r.count)
		}
	}
	m.rows = m.rows[:0]
	m.begin(false)
	return nil
}

func (c *Counts) count(expected, observed float64) {
	c.Expected += expected
	c.Observed += observed
}

// Correct is a calibration of rates that makes as many events expected as happened, in the whole period and in hours of
// the day that differ from it by more than chance. Few events move it little. Nats are those of the period with it.
func (t *Tally) Correct(c Clock, unit event.Time) (cal Calibration, nats float64) {
	const prior = 20
	cal = Plain
	whole := math.Log((t.Observed*t.Kept + prior) / (t.Expected*t.Kept + prior))
	cal.Now = float32(whole)
	expected, logs := t.Expected*math.Exp(whole), t.Logs+t.Observed*whole
	for h, x := range t.Hours {
		e, o := x.Expected*math.Exp(whole), x.Observed
		z := (o - e) * math.Sqrt(t.Kept/max(1, e))
		if z*z > 4 {
			by := math.Log((o*t.Kept+prior)/(e*t.Kept+prior)) * (1 - 4/(z*z))
			cal.Hours[h] = float32(by)
			expected += e * math.Expm1(by)
			logs += o * by
		}
	}
	return cal, (expected-logs)/t.Observed - math.Log(unit/c.Span)
}
