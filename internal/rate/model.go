package rate

import (
	"context"
	"math"
	"time"

	"github.com/dygmamba/dygmamba/event"
)

// Model is what was learned of rates: one forest for the rate at a time, one for the rate some time ahead.
type Model struct {
	Clock
	Now, Ahead Forest
	Calibration
}

// Calibration is what validation says of forests that have seen other times than those they are asked about.
type Calibration struct {
	Drift
	Windows [3]Correction // of windows of the lengths Clock.Lengths
}

// Correction corrects answers about windows of some length.
type Correction struct {
	Source      float32    // is added to the logarithm of the number of events of a source
	Probability [3]float32 // of ln(−ln(1 − p)), for the probability p of an event of a pair: see correct
	Expected    [3]float32 // of the logarithm of the number of its events
	// Seen are the ranges of terms in validation: of the second of Probability, the second of Expected, and the third.
	// Beyond them a correction is what it is at their ends, so that it does not make pairs that hardly ever meet as
	// likely as those it comes from.
	Seen [3][2]float32
}

// SeenAll is Correction.Seen where terms may be anything.
var SeenAll = [3][2]float32{{-20, 5}, {-20, 20}, {-5, 5}}

// Uncorrected changes nothing.
var Uncorrected = Calibration{Drift{-1, -1}, [3]Correction{noCorrection, noCorrection, noCorrection}}

var noCorrection = Correction{Probability: [3]float32{0, 1, 0}, Expected: [3]float32{0, 1, 0}}

// Plain is a model that has learned nothing: rates are those of State.Offset.
func Plain(c Clock) *Model { return &Model{Clock: NewState(c).clock, Calibration: Uncorrected} }

// tracks says whether what happened after the training period is compared with what was expected.
func (m *Model) tracks() bool { return len(m.Now) > 0 }

// Lengths of windows that are calibrated: an hour, a day and a week where days are known, otherwise parts of the
// training period.
func (c Clock) Lengths() [3]event.Time {
	if c.Day > 0 {
		return [3]event.Time{c.Day / 24, c.Day, 7 * c.Day}
	}
	return [3]event.Time{c.Span / 3000, c.Span / 100, c.Span / 15}
}

// For is the correction of windows of a length: between those of the two nearest lengths.
func (c *Calibration) For(clock Clock, length event.Time) Correction {
	list := clock.Lengths()
	k, part := 0, 0.0
	switch x := math.Log(length); {
	case x <= math.Log(list[0]):
	case x >= math.Log(list[2]):
		k, part = 1, 1
	default:
		if x > math.Log(list[1]) {
			k = 1
		}
		part = (x - math.Log(list[k])) / (math.Log(list[k+1]) - math.Log(list[k]))
	}
	a, b := c.Windows[k], c.Windows[k+1]
	mean := func(x, y float32) float32 { return x + float32(part)*(y-x) }
	r := Correction{Source: mean(a.Source, b.Source)}
	for i := range r.Probability {
		r.Probability[i] = mean(a.Probability[i], b.Probability[i])
		r.Expected[i] = mean(a.Expected[i], b.Expected[i])
		r.Seen[i] = [2]float32{mean(a.Seen[i][0], b.Seen[i][0]), mean(a.Seen[i][1], b.Seen[i][1])}
	}
	return r
}

// FitOptions say how rates are learned.
type FitOptions struct {
	Trees   int // of each forest, at most
	Rows    int // events that are learned from, at most; 0: DefaultRows
	Seed    uint64
	Threads int       // 0: as many as Go may use; their number changes no answer
	Until   time.Time // no tree is begun later; zero: there is no limit
}

// DefaultRows is how many events a forest is made from at most.
const DefaultRows = 80_000

// Fit learns from the first events. Those that follow them, up to val, only say how many trees are best; there may be
// none.
func Fit(ctx context.Context, events event.Span, train, val int, c Clock, o FitOptions) (*Model, error) {
	m := Plain(c)
	if o.Rows == 0 {
		o.Rows = DefaultRows
	}
	learn := drawer{events: events, hi: train, most: o.Rows, clock: m.Clock, key: mix(o.Seed, 1)}
	check := drawer{events: events, lo: train, hi: val, most: o.Rows / 3, clock: m.Clock, key: mix(o.Seed, 2)}
	for _, d := range []*drawer{&learn, &check} {
		if d.hi <= d.lo {
			continue
		}
		if err := d.draw(ctx); err != nil {
			return nil, err
		}
	}
	var err error
	all := o.Until
	if !all.IsZero() {
		o.Until = time.Now().Add(time.Until(all) / 2)
	}
	if learn.now.Len() > 0 {
		m.Now, err = grow(ctx, &learn.now, &check.now, mix(o.Seed, 3), o)
	}
	o.Until = all
	if learn.ahead.Len() > 0 && err == nil {
		m.Ahead, err = grow(ctx, &learn.ahead, &check.ahead, mix(o.Seed, 4), o)
	}
	return m, err
}
