package rate

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// drift compares, after the training period, how many events were expected with how many happened: over the latest
// events, and by the hour of the day. What is known at t follows from the time before t.
type drift struct {
	seen  int // events after the training period
	level [len(levelMemory)]sums
	at    event.Time // as of which hours have faded
	hours [len(hourMemory)][hours]sums
}

var (
	levelMemory = [...]float64{200, 600, 2000, 6000, 20_000} // events
	hourMemory  = [...]float64{5, 15, 45}                    // days
)

const (
	driftPoints = 1e5 // from each stretch of time, after all actions of a training period; at least one after each
	driftRows   = 2e5 // of these points in a training period are looked at, about
	driftMost   = 3e5 // points in a training period, where stretches of time are cut further for the hours of the day
	driftKey    = 0xd21f7
	driftPrior  = 30 // events that are expected and happen in every memory
)

// Drift says how far back corrections of rates look: places in levelMemory and hourMemory, −1 for no correction.
type Drift struct{ Level, Hours int }

// expect counts what was expected in a stretch of time.
func (d *drift) expect(c Clock, t event.Time, weight, log float64) {
	x := weight * math.Exp(min(log, 40))
	for m := range d.level {
		d.level[m].expected += x
	}
	if c.Day > 0 {
		d.fade(c, t)
		h := bin(t/c.Day, hours)
		for m := range d.hours {
			d.hours[m][h].expected += x
		}
	}
}

// observe counts an event.
func (d *drift) observe(c Clock, t event.Time) {
	for m := range d.level {
		d.level[m].scale(1 - 1/levelMemory[m])
		d.level[m].count++
	}
	if c.Day > 0 {
		d.fade(c, t)
		h := bin(t/c.Day, hours)
		for m := range d.hours {
			d.hours[m][h].count++
		}
	}
}

// fade lets hours fade, every now and then.
func (d *drift) fade(c Clock, t event.Time) {
	if d.at != 0 && t-d.at < c.Day/24 {
		return
	}
	for m := range d.hours {
		keep := math.Exp(-(t - d.at) / (hourMemory[m] * c.Day))
		for h := range d.hours[m] {
			d.hours[m][h].scale(keep)
		}
	}
	d.at = t
}

func (s *sums) scale(by float64) {
	s.count *= by
	s.expected *= by
}

// shift is what to add to the logarithm of a rate at a time.
func (d *drift) shift(c Clock, t event.Time, by Drift) float64 {
	x := 0.0
	if by.Level >= 0 {
		x = d.level[by.Level].ratio()
	}
	if by.Hours >= 0 && c.Day > 0 {
		var all sums
		for _, s := range d.hours[by.Hours] {
			all.count += s.count
			all.expected += s.expected
		}
		s := d.hours[by.Hours][bin(t/c.Day, hours)]
		s.expected *= math.Exp(all.ratio())
		x += s.ratio()
	}
	return max(-maxShift, min(maxShift, x))
}

// maxShift is how far a correction goes.
const maxShift = 3

// ratio is the logarithm of observed over expected events. Few of them move it little.
func (s sums) ratio() float64 { return math.Log((s.count + driftPrior) / (s.expected + driftPrior)) }

// perSpan is how many events all sources have in a training period, by the latest tenth of one.
func (s *State) perSpan(at event.Time) float64 {
	k := scales - 2
	return float64(s.total[k]) * math.Exp(-(at-s.last)/(parts[k]*s.clock.Span)) / parts[k]
}
