package walk_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/walk"
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
	return slices.Concat(
		o.account(t, func(e event.Event) bool { return e.Src == u || e.Dst == u }),
		o.account(t, func(e event.Event) bool { return e.Src == v || e.Dst == v }),
		o.account(t, func(e event.Event) bool { return e.Src == u }),
		o.account(t, func(e event.Event) bool { return e.Dst == v }),
		o.account(t, func(e event.Event) bool { return e.Src == u && e.Dst == v }),
		o.account(t, func(e event.Event) bool { return e.Src == v && e.Dst == u }),
	)
}

// nextItems are the numbers of a query about u→v at t: events whose source had then the same latest partner as u
// has, the same two, or the same one as long ago.
func (o oracle) nextItems(u, v event.Node, t event.Time) (out []float64) {
	last, before, since := o.latest(u, t)
	for _, alike := range []func(x, y event.Node, ago int) bool{
		func(x, _ event.Node, _ int) bool { return x == last },
		func(x, y event.Node, _ int) bool { return x == last && y == before },
		func(x, _ event.Node, ago int) bool { return x == last && ago == since },
	} {
		follows := func(e event.Event) bool { return alike(o.latest(e.Src, e.Time)) }
		out = slices.Concat(out, o.account(t, func(e event.Event) bool { return e.Dst == v && follows(e) }),
			o.account(t, follows))
	}
	return out
}

// latest are the partners of a node's last two events before t, 0 where there are none, and how many tens make the part
// of the span that has passed since, from a hundred-thousandth on.
func (o oracle) latest(n event.Node, t event.Time) (last, before event.Node, since int) {
	var own []event.Event
	for _, e := range o.events {
		if e.Time < t && (e.Src == n || e.Dst == n) {
			own = append(own, e)
		}
	}
	if len(own) == 0 {
		return 0, 0, 99
	}
	key := func(n event.Node) uint64 { return walk.KeyOf(o.options, n) }
	slices.SortFunc(own, func(a, b event.Event) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(key(a.Src), key(b.Src)),
			cmp.Compare(key(a.Dst), key(b.Dst)))
	})
	e := own[len(own)-1]
	last = e.Src + e.Dst - n
	if len(own) > 1 {
		before = own[len(own)-2].Src + own[len(own)-2].Dst - n
	}
	return last, before, max(0, min(6, 6+int(math.Floor(math.Log10((t-e.Time)/o.options.Span)))))
}

// account is the numbers of the events before t that count.
func (o oracle) account(t event.Time, counts func(e event.Event) bool) []float64 {
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
	return numbers
}
