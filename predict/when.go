package predict

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rate"
)

// ErrNoRate is in the chain of the error about a question of time to a model that has learned no rates.
var ErrNoRate = errors.New("the model knows no rates: it was trained with rate_trees=0 or with an older version; " +
	"train it again")

// Timing is how often something happens from a time on: a source acts, or a source acts with a destination.
type Timing struct {
	Share   float64  // of the destination among the source's events at that time; 1 where none was asked about
	Rate    float64  // events per unit of time at that very time
	Windows []Window // in the order of the question
	// Peak is when, within the longest window, the rate is highest. Half is after how much time the probability that
	// something has happened reaches one half; +Inf where that is later.
	Peak    event.Time
	Half    event.Time
	Warning string // what to think of before using the answer; "" for nothing
	// Curve has the expected rate in the longest window.
	Curve []RatePoint
}

// Window is what is expected within some time. It includes events that others in the window lead to.
type Window struct {
	Length      event.Time
	Expected    float64 // number of events
	Probability float64 // of at least one
}

// RatePoint is the expected rate at a time.
type RatePoint struct {
	Time event.Time
	Rate float64
}

// KnowsRates says whether the model can answer when something happens.
func (c *Chooser) KnowsRates() bool { return c.when != nil }

// Day is how long a day lasts in the unit of times, 0 where nobody knows.
func (c *Chooser) Day() event.Time {
	if c.when == nil {
		return 0
	}
	return c.when.Day
}

// Rate is how often a source acts at a time, per unit of time.
func (c *Chooser) Rate(src event.Node, at event.Time) (float64, error) {
	t, err := c.When(src, nil, at, nil)
	return t.Rate, err
}

// nats is −ln of the rate at a time.
func (c *Chooser) nats(src event.Node, at event.Time) (*float64, error) {
	r, err := c.Rate(src, at)
	if err != nil {
		return nil, err
	}
	x := -math.Log(r * cmp.Or(c.Day(), 1))
	return &x, nil
}

// When says how often a source acts, with one destination or with any (nil), at a time and in windows that begin then.
func (c *Chooser) When(src event.Node, dst *event.Node, at event.Time, windows []event.Time) (Timing, error) {
	if c.when == nil {
		return Timing{}, fmt.Errorf("%s: %w", c.p.choice.File, ErrNoRate)
	}
	w, err := c.at(src, at)
	if err != nil {
		return Timing{}, err
	}
	t, later := Timing{Share: 1, Half: math.Inf(1), Peak: at}, 1.0
	if dst != nil {
		group, within, err := c.ask.Nats(w, *dst)
		if err != nil {
			return Timing{}, fmt.Errorf("shares: %w", err)
		}
		t.Share = math.Exp(-group - within)
		facts := w.Facts(*dst)
		later = facts.Usual(t.Share)
	}
	longest := 0.0
	for _, length := range windows {
		longest = max(longest, length)
	}
	s := c.hours.Before(at)
	f := c.when.Forecast(s, src, at, longest)
	t.Rate, t.Warning = f.Now*t.Share, s.Warning(src, at)
	of := func(length event.Time) rate.Window {
		if dst == nil {
			return f.Within(length)
		}
		return f.Pair(length, t.Share, later)
	}
	for _, length := range windows {
		x := of(length)
		t.Windows = append(t.Windows, Window{length, x.Expected, x.Probability})
	}
	t.describe(&f, at, of)
	return t, nil
}

// describe adds the curve and what can be read from it.
func (t *Timing) describe(f *rate.Forecast, at event.Time, of func(event.Time) rate.Window) {
	highest := -1.0
	for i, r := range f.Rate {
		middle := at + (f.Edge[i]+f.Edge[i+1])/2
		t.Curve = append(t.Curve, RatePoint{middle, r * t.Share})
		if r > highest {
			highest, t.Peak = r, middle
		}
		if math.IsInf(t.Half, 1) && of(f.Edge[i+1]).Probability >= 0.5 {
			t.Half = f.Edge[i+1]
		}
	}
}
