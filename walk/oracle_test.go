package walk_test

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/walk"
)

// oracle says what a state should be, straight from the definition, in float64: nothing is kept, every number is a sum
// over all events before t.
type oracle struct {
	events  []event.Event
	options walk.Options
}

// vector is level l of a node at t: each of its events before t gives level l−1 of the other end as of that event,
// decayed since. A loop is one event.
func (o oracle) vector(n event.Node, level, scale int, t event.Time) []float64 {
	h := make([]float64, o.options.Dim)
	if level == 0 {
		row := make([]float32, o.options.Width())
		walk.NewState(o.options).Begin(n, row)
		for i := range h {
			h[i] = float64(row[i])
		}
		return h
	}
	rate := o.options.Rates()[scale]
	for _, e := range o.events {
		if e.Time >= t || e.Src != n && e.Dst != n {
			continue
		}
		other := e.Src + e.Dst - n
		decay := math.Exp(-rate * float64(level) * (t - e.Time))
		for i, x := range o.vector(other, level-1, scale, e.Time) {
			h[i] += decay * x
		}
	}
	return h
}

// roles are the numbers of a query about u→v at t.
func (o oracle) roles(u, v event.Node, t event.Time) []float64 {
	var out []float64
	for _, counts := range []func(e event.Event) bool{
		func(e event.Event) bool { return e.Src == u || e.Dst == u },
		func(e event.Event) bool { return e.Src == v || e.Dst == v },
		func(e event.Event) bool { return e.Src == u },
		func(e event.Event) bool { return e.Dst == v },
		func(e event.Event) bool { return e.Src == u && e.Dst == v },
		func(e event.Event) bool { return e.Src == v && e.Dst == u },
	} {
		last, n, decayed := math.Inf(-1), 0.0, [walk.Scales]float64{}
		for _, e := range o.events {
			if e.Time >= t || !counts(e) {
				continue
			}
			last, n = max(last, e.Time), n+1
			for s, rate := range o.options.Rates() {
				decayed[s] += math.Exp(-rate * (t - e.Time))
			}
		}
		numbers := make([]float64, walk.RoleNumbers)
		if n > 0 {
			numbers[0] = math.Log1p((t-last)/o.options.Span*1e6) / 4
			numbers[1], numbers[2] = 1, math.Log1p(n)
			for s, x := range decayed {
				numbers[3+s] = math.Log1p(x)
			}
		}
		out = append(out, numbers...)
	}
	return out
}
