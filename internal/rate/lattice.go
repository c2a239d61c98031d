package rate

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// lattice is which times are possible: whole numbers of steps after the first event. Where events are recorded by the
// minute, the time since a source's last action is a whole number of minutes at every event. Were the silence between
// events looked at in between, a forest would learn high rates for very short times, which few points see.
type lattice struct {
	from  event.Time
	step  event.Time // 0: any time is possible
	begun bool
}

// note learns of a time. Times that are not whole numbers have no steps.
func (l *lattice) note(t event.Time) {
	switch {
	case !l.begun:
		l.from, l.begun = t, true
		l.step = math.Inf(1)
		if t != math.Floor(t) {
			l.step = 0
		}
	case l.step > 0:
		d := math.Abs(t - l.from)
		switch {
		case d != math.Floor(d):
			l.step = 0
		case math.IsInf(l.step, 1):
			if d > 0 {
				l.step = d
			}
		default:
			l.step = gcd(l.step, d)
		}
	}
}

func gcd(a, b float64) float64 {
	for b > 0 {
		a, b = b, math.Mod(a, b)
	}
	return a
}

// up is the first possible time that is not before t.
func (l *lattice) up(t event.Time) event.Time {
	if !(l.step > 0) || math.IsInf(l.step, 1) {
		return t
	}
	return l.from + math.Ceil((t-l.from)/l.step)*l.step
}
