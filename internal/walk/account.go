package walk

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Roles are what a query is told of the past activity of its two nodes: of u, of v, of u as a source, of v as a
// destination, of u→v and of v→u, RoleNumbers each.
const (
	RoleNumbers = 3 + Scales
	Roles       = kinds * RoleNumbers

	kinds = 6
)

// Activity is what State.Activity tells of the two nodes of a query.
type Activity [kinds]account

// Roles writes what the activity of two nodes is at a later t, Roles numbers.
func (o Options) Roles(a *Activity, t event.Time, out []float32) {
	rates := o.Rates()
	for i := range a {
		a[i].write(out[i*RoleNumbers:], t, &o, &rates)
	}
}

// account is how often something happened, and when last.
type account struct {
	last    event.Time
	count   uint32
	decayed [Scales]float32 // counts that decay with time, as of last
}

// add counts one more at a time that is not before the last.
func (a *account) add(t event.Time, rates *[Scales]float64) {
	if a.count == 0 {
		a.last = t
	}
	if t > a.last {
		for s, rate := range rates {
			a.decayed[s] = float32(float64(a.decayed[s]) * math.Exp(-rate*(t-a.last)))
		}
		a.last = t
	}
	for s := range a.decayed {
		a.decayed[s]++
	}
	if a.count < math.MaxUint32 {
		a.count++
	}
}

// moment is the part of the span of training events that counts as one unit of how long ago something was.
const moment = 1e-6

// write tells what a is at t: log time since the last, whether there was one, log count, log decayed counts. Without a
// first one all are 0. Logarithms of time are divided by 4, so that all numbers are about as large.
func (a *account) write(out []float32, t event.Time, o *Options, rates *[Scales]float64) {
	out = out[:RoleNumbers]
	if a.count == 0 {
		clear(out)
		return
	}
	ago := t - a.last
	out[0] = float32(math.Log1p(ago/(moment*o.span())) / 4)
	out[1] = 1
	out[2] = float32(math.Log1p(float64(a.count)))
	for s, rate := range rates {
		out[3+s] = float32(math.Log1p(float64(a.decayed[s]) * math.Exp(-rate*ago)))
	}
}
