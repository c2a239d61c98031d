package eval

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"time"

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
	windowSample   = 1000   // when a training is over
	windowsFitted  = 3000   // in validation
	whenValidation = 20_000 // validation events whose times are judged
	windowBins     = 15
	fewest         = 2 // a part must last this many windows
)

// unitOf is the unit of nats: a day where that is known.
func unitOf(c rate.Clock) event.Time { return cmp.Or(c.Day, 1) }

// When measures what a model says of the times of test events, and of windows from as many random times on; 0: a few.
// It asks about fewer windows where the time is up meanwhile; zero: there is no limit.
func (p *Protocol) When(ctx context.Context, net *model.Net, rates *rate.Model, draws int, until time.Time,
) (*When, error) {
	ask, clock := rate.NewAsker(rates), rates.Clock
	period := p.period(Test, 0)
	if draws > 0 { // as exactly as that
		period.Points = 300_000
	}
	tally, err := ask.Measure(ctx, period)
	if err != nil || tally.Observed == 0 {
		return nil, err
	}
	w := &When{Nats: tally.Nats(clock, unitOf(clock)), Total: tally.Counts, Windows: []Window{}}
	if clock.Day > 0 {
		w.Hours, w.Weekdays = tally.Hours[:], tally.Weekdays[:]
	}
	lengths := clock.Lengths()
	for k, length := range lengths {
		x := p.newWindowed(Test, net, ask)
		x.until = partOf(until, len(lengths)-k)
		asked, err := p.askWindows(ctx, Test, net, x, length, cmp.Or(draws, p.windowSample(Test)))
		if err != nil {
			return nil, err
		}
		if len(asked) > 0 {
			w.Windows = append(w.Windows, windowOf(length, clock, asked, rates.Windows[k]))
		}
	}
	return w, nil
}

// FitRates learns when sources act, from the training events, with fewer trees where the time is up meanwhile; zero:
// there is no limit.
func (p *Protocol) FitRates(ctx context.Context, c rate.Clock, trees int, seed uint64, until time.Time,
) (*rate.Model, error) {
	train := p.split.Train.Len()
	return rate.Fit(ctx, p.split.Full.All(), train, train+p.split.Val.Len(), c, rate.FitOptions{Trees: trees,
		Seed: seed, Threads: p.options.Threads, Until: until})
}

// partOf is when this part of the time until then is over: half of it, a third of it, …; zero stays zero.
func partOf(until time.Time, parts int) time.Time {
	if until.IsZero() {
		return until
	}
	return time.Now().Add(time.Until(until) / time.Duration(parts))
}

// ValidateWhen measures a model on validation events and calibrates it on them. Nats are those after it. It asks about
// fewer windows where the time is up meanwhile; zero: there is no limit.
func (p *Protocol) ValidateWhen(ctx context.Context, net *model.Net, rates *rate.Model, until time.Time,
) (*float64, error) {
	rates.Calibration = rate.Uncorrected
	ask, clock := rate.NewAsker(rates), rates.Clock
	period := p.period(Val, whenValidation)
	if period.Hi == period.Lo {
		return nil, nil
	}
	nats, err := ask.ChooseDrift(ctx, period, unitOf(clock))
	if err != nil {
		return nil, err
	}
	lengths := clock.Lengths()
	for k, length := range lengths {
		x := p.newWindowed(Val, net, ask)
		x.lively, x.until = true, partOf(until, len(lengths)-k)
		draws := windowsFitted
		if net.Shortlist() > 0 { // which takes longer to ask
			draws = windowSample
		}
		list, err := p.askWindows(ctx, Val, net, x, length, draws)
		if err != nil {
			return nil, err
		}
		switch {
		case len(list) > 0:
			rates.Windows[k] = rate.FitCorrection(list)
		case k > 0: // the period is shorter than that
			rates.Windows[k] = rates.Windows[k-1]
		}
	}
	return &nats, nil
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
	lively   bool      // ask rather about sources that have acted lately
	until    time.Time // when to stop asking, after leastAsked questions; zero: never
}

func (p *Protocol) newWindowed(part Part, net *model.Net, ask *rate.Asker) *windowed {
	period := p.period(part, 0)
	events := period.Events
	x := &windowed{events: events, from: events.Time[period.Lo], to: events.Time[period.Hi-1],
		who: next.NewAsker(net, p.options.Threads), when: ask, walk: next.NewWalk(events, net.Setup()),
		times: rate.NewWalk(events, ask.Model), count: map[[2]event.Node]int32{}, best: map[event.Node]event.Node{},
		later: map[event.Node][]int32{}}
	for i := period.Lo; i < period.Hi; i++ {
		x.later[events.Src[i]] = append(x.later[events.Src[i]], int32(i))
	}
	return x
}

// askWindows lets a model that compares pairs go on through the part meanwhile.
func (p *Protocol) askWindows(ctx context.Context, part Part, net *model.Net, x *windowed, length event.Time, draws int,
) (list []rate.Asked, err error) {
	err = p.withPairs(ctx, net, p.full, p.parts[part].All(), func() error {
		list, err = x.ask(ctx, length, draws)
		return err
	})
	return list, err
}

// ask draws times and sources.
func (x *windowed) ask(ctx context.Context, length event.Time, draws int) ([]rate.Asked, error) {
	if x.to-x.from < fewest*length {
		return nil, nil
	}
	gen := rng.New(0, "windows")
	times := make([]event.Time, draws)
	for i := range times {
		times[i] = x.from + gen.Float64()*(x.to-x.from-length)
	}
	slices.Sort(times)
	list := make([]rate.Asked, 0, draws)
	for _, at := range times {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(list) >= leastAsked && over(x.until) {
			break
		}
		x.learn(at)
		u, weight := x.source(gen)
		a, err := x.one(ctx, u, x.best[u], at, length)
		if err != nil {
			return nil, err
		}
		a.Weight = weight
		list = append(list, a)
	}
	return list, nil
}

// source draws one of those that are known. Weight is how likely it is among all, compared with how likely it is drawn.
func (x *windowed) source(gen *rng.Source) (u event.Node, weight float64) {
	known := len(x.known)
	u = x.known[gen.Below(known)]
	if !x.lively {
		return u, 1
	}
	const latest = 400 // events whose sources are every second one
	lo := max(0, x.added-latest)
	if gen.Below(2) == 1 {
		u = x.events.Src[lo+gen.Below(x.added-lo)]
	}
	n := 0
	for _, v := range x.events.Src[lo:x.added] {
		if v == u {
			n++
		}
	}
	return u, 2 / (1 + float64(n*known)/float64(x.added-lo))
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
func (x *windowed) one(ctx context.Context, u, v event.Node, at, length event.Time) (a rate.Asked, err error) {
	counts, err := x.walk.Reach(ctx, at)
	if err != nil {
		return a, err
	}
	state, err := x.times.Reach(ctx, at)
	if err != nil {
		return a, err
	}
	x.view = counts.At(x.view, u, at)
	group, within, err := x.who.Nats(x.view, v)
	if err != nil {
		return a, err
	}
	f := x.when.Forecast(state, u, at, length)
	facts := x.view.Facts(v)
	a.Share = math.Exp(-group - within)
	a.Later = facts.Usual(a.Share)
	a.Pair = f.Plain(length, a.Share, a.Later)
	a.Source.Expected = f.Within(length).Expected
	list := x.later[u]
	first := sort.Search(len(list), func(i int) bool { return x.events.Time[list[i]] >= at })
	for _, i := range list[first:] {
		if x.events.Time[i] >= at+length {
			break
		}
		a.Source.Observed++
		if x.events.Dst[i] == v {
			a.Events++
		}
	}
	return a, nil
}

// windowOf judges windows of one length.
func windowOf(length event.Time, clock rate.Clock, list []rate.Asked, c rate.Correction) Window {
	w := Window{Window: length, Asked: len(list)}
	if clock.Day > 0 {
		w.Window = length / clock.Day * 86400
	}
	points := make([][2]float64, len(list))
	for i, a := range list {
		pair := c.Pair(a.Pair, a.Share, a.Later)
		happened := min(1, a.Events)
		points[i] = [2]float64{pair.Probability, happened}
		w.Expected += pair.Expected
		w.Observed += a.Events
		w.Source.Expected += a.Source.Expected
		w.Source.Observed += a.Source.Observed
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
