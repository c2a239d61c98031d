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
	level  float64        // of the logarithm of all rates
	hours  [hours]float64 // of those at an hour of the day
	lately [hours]float64 // events that were expected at that hour, fading
	at     event.Time     // as of when they have faded
}

var (
	levelMemory = [...]float64{200, 600, 2000, 6000, 20_000} // events
	hourMemory  = [...]float64{5, 15, 45}                    // days
)

const (
	driftPoints = 3e5 // from each stretch of time, after all actions of a training period; at least one after each
	driftRows   = 1e5 // of these points in a training period are looked at, about,
	driftEach   = 25  // but no more than this many for an event, and not fewer than that
	driftLeast  = 0.3
	driftMost   = 1e6 // points in a training period, where stretches of time are cut further for the hours of the day
	driftKey    = 0xd21f7
	driftPrior  = 30 // events that the memory of an hour has at least
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

// shift is what to add to the logarithm of a rate at a time, by the first track.
func (d *drift) shift(c Clock, t event.Time) float64 {
	if len(d.tracks) == 0 {
		return 0
	}
	return d.tracks[0].shift(c, t)
}

func (x *track) shift(c Clock, t event.Time) float64 {
	by := x.level
	if x.Hours >= 0 && c.Day > 0 {
		by += x.hours[bin(t/c.Day, hours)]
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
	if t-x.at > c.Day/24 {
		keep := math.Exp(-(t - x.at) / (hourMemory[x.Hours] * c.Day))
		for h := range x.lately {
			x.lately[h] *= keep
		}
		x.at = t
	}
	h := bin(t/c.Day, hours)
	x.lately[h] += max(0, -more)
	x.hours[h] = moved(x.hours[h], more/(driftPrior+x.lately[h]))
}

// moved is a correction that is not moved too far at once.
func moved(x, by float64) float64 { return max(-maxShift, min(maxShift, x+max(-1, by))) }

// perSpan is how many events all sources have in a training period, by the latest tenth of one.
func (s *State) perSpan(at event.Time) float64 {
	k := scales - 2
	return float64(s.total[k]) * math.Exp(-(at-s.last)/(parts[k]*s.clock.Span)) / parts[k]
}
