package eval

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/internal/rate"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/model"
)

// When is what a model says of the times of a part: how likely they were, and how many events it expected.
type When struct {
	// Nats is −ln of the likelihood of the events and of the silence between them, per event; time is in days where
	// they are known. A source's first event, and the time before it, are left out.
	Nats    float64  `json:"when_nats"`
	Windows []Window `json:"windows,omitempty"`
	// Total is over the whole part, Hours and Weekdays by the hour of the day and the day of the week, where days are
	// known. Time 0 is in the first of both; dates are in UTC, and time 0 is a Thursday.
	Total    rate.Counts   `json:"counts,omitzero"`
	Hours    []rate.Counts `json:"hours,omitempty"`
	Weekdays []rate.Counts `json:"weekdays,omitempty"`
}

// Window is how well the probability of an event in a window is calibrated: asked at random times, about a random known
// source and its most frequent destination.
type Window struct {
	Window   float64 `json:"window"`   // seconds where days are known, otherwise in the unit of times
	Asked    int     `json:"asked"`    // how often
	Expected float64 `json:"expected"` // events of all pairs that were asked about
	Observed float64 `json:"observed"`
	ECE      float64 `json:"ece"` // calibration error in 15 bins of equal mass
	Brier    float64 `json:"brier"`
	Base     float64 `json:"brier_base"`    // of the share of windows with an event, for all alike
	Rate     float64 `json:"observed_rate"` // that share
	// Source is the same of all events of the source.
	Source rate.Counts `json:"source"`
}

const (
	WindowDraws    = 10_000 // random times of a test, for each window, where nobody says how many
	windowSample   = 1000   // in validation, and when a training is over
	whenValidation = 60_000 // validation events whose times are judged
	windowBins     = 15
	fewest         = 2 // a part must last this many windows
)

// windows are an hour, a day and a week where days are known, otherwise parts of the training period.
func windows(c rate.Clock) []event.Time {
	if c.Day > 0 {
		return []event.Time{c.Day / 24, c.Day, 7 * c.Day}
	}
	return []event.Time{c.Span / 3000, c.Span / 100, c.Span / 15}
}

// unitOf is the unit of nats: a day where that is known.
func unitOf(c rate.Clock) event.Time { return cmp.Or(c.Day, 1) }

// When measures what a timer says of the times of test events, and of windows from as many random times on; 0: a few.
func (p *Protocol) When(ctx context.Context, net *model.Net, times *model.RateNet, draws int) (*When, error) {
	ask, clock := rate.NewAsker(times, times.Calibration()), times.Clock()
	period := p.period(Test, 0)
	if draws > 0 { // as exactly as that
		period.Points = min(300_000, 128*(period.Hi-period.Lo))
	}
	tally, err := ask.Measure(ctx, period, clock)
	if err != nil || tally.Observed == 0 {
		return nil, err
	}
	w := &When{Nats: tally.Nats(clock, unitOf(clock)), Total: tally.Counts, Windows: []Window{}}
	if clock.Day > 0 {
		w.Hours, w.Weekdays = tally.Hours[:], tally.Weekdays[:]
	}
	for _, length := range windows(clock) {
		x := p.newWindowed(Test, net, ask, clock)
		asked, err := x.ask(ctx, length, cmp.Or(draws, p.windowSample(Test)))
		if err != nil {
			return nil, err
		}
		if len(asked) > 0 {
			w.Windows = append(w.Windows, windowOf(length, clock, asked, ask.Calibration))
		}
	}
	return w, nil
}

// ValidateWhen measures a timer on validation events and calibrates it on them. Nats are those after it.
func (p *Protocol) ValidateWhen(ctx context.Context, net *model.Net, times *model.RateNet) (*float64, error) {
	ask, clock := rate.NewAsker(times, rate.Plain), times.Clock()
	tally, err := ask.Measure(ctx, p.period(Val, whenValidation), clock)
	if err != nil || tally.Observed == 0 {
		return nil, err
	}
	var nats float64
	ask.Calibration, nats = tally.Correct(clock, unitOf(clock))
	var all []asked
	var source rate.Counts
	for _, length := range windows(clock)[:2] {
		x := p.newWindowed(Val, net, ask, clock)
		list, err := x.ask(ctx, length, p.windowSample(Val))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		for _, a := range list {
			source.Expected += a.source.Expected
			source.Observed += a.sourceEvents
		}
	}
	ask.Ahead = float32(shrunk(source))
	ask.Shift, ask.Slope = fitWindows(all)
	return &nats, times.Calibrate(ask.Calibration)
}

// shrunk is the logarithm of observed over expected events; few events move it little from 0.
func shrunk(c rate.Counts) float64 {
	const prior = 20
	return math.Log((c.Observed + prior) / (c.Expected + prior))
}

// windowSample is how many windows are asked about where that is not what counts.
func (p *Protocol) windowSample(part Part) int { return min(windowSample, p.parts[part].Len()) }

// period is a part of the protocol's events.
func (p *Protocol) period(part Part, most int) rate.Period {
	lo := p.split.Train.Len()
	hi := lo + p.split.Val.Len()
	if part == Test {
		lo, hi = hi, p.split.Full.Len()
	}
	return rate.Period{Events: p.split.Full.All(), Lo: lo, Hi: hi, Most: most, Points: min(40_000, 20*(hi-lo)),
		Key: 0x3e57}
}

// windowed asks about windows at random times of a part.
type windowed struct {
	events   event.Span
	from, to event.Time
	who      *next.Asker
	when     *rate.Asker
	walk     *next.Walk
	times    *rate.Walk
	added    int
	known    []event.Node // sources, in the order of their first event
	count    map[[2]event.Node]int32
	best     map[event.Node]event.Node
	later    map[event.Node][]int32 // positions of a source's events
	view     *next.View
}

func (p *Protocol) newWindowed(part Part, net *model.Net, ask *rate.Asker, c rate.Clock) *windowed {
	period := p.period(part, 0)
	events := period.Events
	x := &windowed{events: events, from: events.Time[period.Lo], to: events.Time[period.Hi-1],
		who: next.NewAsker(net, p.options.Threads), when: ask, walk: next.NewWalk(events, net.Setup()),
		times: rate.NewWalk(events, c), count: map[[2]event.Node]int32{}, best: map[event.Node]event.Node{},
		later: map[event.Node][]int32{}}
	for i := period.Lo; i < period.Hi; i++ {
		x.later[events.Src[i]] = append(x.later[events.Src[i]], int32(i))
	}
	return x
}

// asked is a window that was asked about, and what happened in it.
type asked struct {
	pair, source             rate.Window
	pairEvents, sourceEvents float64
}

// ask draws times and sources.
func (x *windowed) ask(ctx context.Context, length event.Time, draws int) ([]asked, error) {
	if x.to-x.from < fewest*length {
		return nil, nil
	}
	gen := rng.New(0, "windows")
	times := make([]event.Time, draws)
	for i := range times {
		times[i] = x.from + gen.Float64()*(x.to-x.from-length)
	}
	slices.Sort(times)
	list := make([]asked, 0, draws)
	for _, at := range times {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.learn(at)
		u := x.known[gen.Below(len(x.known))]
		a, err := x.one(u, x.best[u], at, length)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// learn brings what is known to a time.
func (x *windowed) learn(at event.Time) {
	for ; x.added < x.events.Len() && x.events.Time[x.added] < at; x.added++ {
		u, v := x.events.Src[x.added], x.events.Dst[x.added]
		best, seen := x.best[u]
		if !seen {
			x.known = append(x.known, u)
		}
		pair := [2]event.Node{u, v}
		x.count[pair]++
		if !seen || x.count[pair] > x.count[[2]event.Node{u, best}] {
			x.best[u] = v
		}
	}
}

// one asks about a pair.
func (x *windowed) one(u, v event.Node, at, length event.Time) (a asked, err error) {
	x.view = x.walk.Before(at).At(x.view, u, at)
	group, within, err := x.who.Nats(x.view, v)
	if err != nil {
		return a, err
	}
	f, err := x.when.Forecast(x.times.Before(at), u, at, length)
	if err != nil {
		return a, err
	}
	share, facts := math.Exp(-group-within), x.view.Facts(v)
	a.source, a.pair = f.Within(length, 1, 1), f.Within(length, share, facts.Usual(share))
	list := x.later[u]
	first := sort.Search(len(list), func(i int) bool { return x.events.Time[list[i]] >= at })
	for _, i := range list[first:] {
		if x.events.Time[i] >= at+length {
			break
		}
		a.sourceEvents++
		if x.events.Dst[i] == v {
			a.pairEvents++
		}
	}
	return a, nil
}

// windowOf judges windows of one length.
func windowOf(length event.Time, clock rate.Clock, list []asked, c rate.Calibration) Window {
	w := Window{Window: length, Asked: len(list)}
	if clock.Day > 0 {
		w.Window = length / clock.Day * 86400
	}
	points := make([][2]float64, len(list))
	for i, a := range list {
		pair := c.Pair(a.pair)
		happened := min(1, a.pairEvents)
		points[i] = [2]float64{pair.Probability, happened}
		w.Expected += pair.Expected
		w.Observed += a.pairEvents
		w.Source.Expected += a.source.Expected
		w.Source.Observed += a.sourceEvents
		w.Brier += (pair.Probability - happened) * (pair.Probability - happened)
		w.Rate += happened
	}
	n := float64(len(list))
	w.Brier, w.Rate = w.Brier/n, w.Rate/n
	w.Base = w.Rate * (1 - w.Rate)
	w.ECE = calibrationError(points)
	return w
}

// calibrationError is the mean distance of probabilities from what happened, in bins of equal mass.
func calibrationError(points [][2]float64) float64 {
	slices.SortStableFunc(points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	sum, n := 0.0, len(points)
	for b := range windowBins {
		off := 0.0
		for _, x := range points[n*b/windowBins : n*(b+1)/windowBins] {
			off += x[0] - x[1]
		}
		sum += math.Abs(off)
	}
	return sum / float64(max(1, n))
}

// fitWindows finds the shift and the slope of ln(−ln(1−p)) that make what happened most likely, by Newton's method. Few
// windows with an event move them little from 0 and 1.
func fitWindows(list []asked) (shift, slope float32) {
	const prior = 10
	a, b := 0.0, 0.0 // x' = x + a + b·(x−mean)
	x := make([]float64, len(list))
	mean := 0.0
	for i, w := range list {
		x[i] = math.Log(-math.Log1p(-min(max(w.pair.Probability, 1e-12), 1-1e-12)))
		mean += x[i] / float64(len(list))
	}
	for range 50 {
		ga, gb, haa, hab, hbb := prior*a, prior*b, float64(prior), 0.0, float64(prior)
		for i, w := range list {
			z := x[i] + a + b*(x[i]-mean)
			mass := math.Exp(min(z, 5)) // −ln(1−p)
			g, h := mass, mass          // derivatives of the nats of no event
			if w.pairEvents > 0 {       // of those of an event, −ln(1−e^(−mass)); the expected curvature is positive
				e := math.Exp(-mass)
				g = -mass * e / max(1e-12, 1-e)
				h = mass * e / max(1e-12, 1-e)
			}
			d := x[i] - mean
			ga, gb = ga+g, gb+g*d
			haa, hab, hbb = haa+h, hab+h*d, hbb+h*d*d
		}
		det := haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		a, b = a-max(-1, min(1, da)), max(-0.9, b-max(-0.3, min(0.3, db)))
		if math.Abs(da)+math.Abs(db) < 1e-9 {
			break
		}
	}
	return float32(a - b*mean), float32(1 + b)
}
