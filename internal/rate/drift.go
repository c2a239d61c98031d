package rate

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// drift corrects rates after the training period: what happens is compared with what was expected. What is known at t
// follows from the time before t.
type drift struct {
	seen   int     // events after the training period
	tracks []track // one for each Drift that is of interest
}

// track is a correction that learns from its own errors: an event raises it, and events that are expected lower it, by
// as much as they raise it when they happen. So over any long time as many events are expected as happen, whatever the
// forest says.
type track struct {
	Drift
	shifts
	shown   shifts         // as of the last event: what answers have
	lately  [hours]float64 // events that were expected at that hour of earlier days, fading
	hour    float64        // of the latest look, since time 0: as of when they have faded
	now     int            // its place in the day
	pending float64        // events that were expected in it
}

// shifts are what to add to logarithms of rates.
type shifts struct {
	level float64        // of all
	hours [hours]float64 // of those at an hour of the day
}

var (
	levelMemory = [...]float64{200, 600, 2000, 6000, 20_000} // events
	hourMemory  = [...]float64{5, 15, 45, 2}                 // days; checkpoints name places
)

const (
	driftPoints = 3e5 // from each stretch of time, after all actions of a training period; at least one after each
	driftRows   = 1e5 // of these points in a training period are looked at, about,
	driftEach   = 25  // but no more than this many for an event, and not fewer than that
	driftLeast  = 0.3
	driftPrior  = 20  // events that the memory of an hour has at least
	driftMost   = 2e6 // points in a training period, where stretches of time are cut further for the hours of the day
	driftKey    = 0xd21f7
)

// Drift says how far back corrections of rates look: places in levelMemory and hourMemory, −1 for no correction.
type Drift struct{ Level, Hours int }

// allDrifts are those that a clock allows.
func allDrifts(c Clock) (list []Drift) {
	for level := -1; level < len(levelMemory); level++ {
		for hour := -1; hour < len(hourMemory) && (hour < 0 || c.Day > 0); hour++ {
			list = append(list, Drift{level, hour})
		}
	}
	return list
}

// newDrift tracks some corrections.
func newDrift(list ...Drift) (d drift) {
	for _, by := range list {
		d.tracks = append(d.tracks, track{Drift: by})
	}
	return d
}

// expect counts what was expected in a stretch of time.
func (d *drift) expect(c Clock, t event.Time, weight, log float64) {
	for i := range d.tracks {
		x := &d.tracks[i]
		x.learn(c, t, -weight*math.Exp(min(log+x.shift(c, t), 40)))
	}
}

// observe counts an event.
func (d *drift) observe(c Clock, t event.Time) {
	for i := range d.tracks {
		d.tracks[i].learn(c, t, 1)
	}
}

// show lets answers have what was learned. Until the next event they have the same, and what was expected meanwhile is
// what they said.
func (d *drift) show() {
	for i := range d.tracks {
		d.tracks[i].shown = d.tracks[i].shifts
	}
}

// shift is what to add to the logarithm of a rate at a time, by the first track.
func (d *drift) shift(c Clock, t event.Time) float64 {
	if len(d.tracks) == 0 {
		return 0
	}
	return d.tracks[0].shift(c, t)
}

func (x *track) shift(c Clock, t event.Time) float64 {
	by := x.shown.level
	if x.Hours >= 0 && c.Day > 0 {
		by += x.shown.hours[bin(t/c.Day, hours)]
	}
	return max(-maxShift, min(maxShift, by))
}

// maxShift is how far a correction goes.
const maxShift = 3

// learn is told of events that were more than expected, or fewer.
func (x *track) learn(c Clock, t event.Time, more float64) {
	if x.Level >= 0 {
		x.level = moved(x.level, more/levelMemory[x.Level])
	}
	if x.Hours < 0 || c.Day == 0 {
		return
	}
	// the memory of an hour grows when the hour is over: its events all count the same
	if hour := math.Floor(t/c.Day*hours + rounding); hour != x.hour {
		keep := math.Exp(-(hour - x.hour) / (hourMemory[x.Hours] * hours))
		for h := range x.lately {
			x.lately[h] *= keep
		}
		x.lately[x.now] += x.pending
		x.hour, x.now, x.pending = hour, bin(t/c.Day, hours), 0
	}
	x.pending += max(0, -more)
	x.hours[x.now] = moved(x.hours[x.now], more/(driftPrior+x.lately[x.now]))
}

// moved is a correction that is not moved too far at once.
func moved(x, by float64) float64 { return max(-maxShift, min(maxShift, x+max(-1, by))) }

// perSpan is how many events all sources have in a training period, by the latest tenth of one.
func (s *State) perSpan(at event.Time) float64 {
	k := scales - 2
	return float64(s.total[k]) * math.Exp(-(at-s.last)/(parts[k]*s.clock.Span)) / parts[k]
}

// rarity is how many times fewer events all sources have at an hour of the day than at a mean hour, at least 1. Points
// are looked at that much rather: hours with few events would otherwise be judged by a handful of them.
func (s *State) rarity(at event.Time) float64 {
	if s.clock.Day == 0 {
		return 1
	}
	const most = 30
	return max(1, min(most, 1/s.commonly(at)))
}
