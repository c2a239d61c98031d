package synth

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
)

// HawkesName is the data set that Hawkes makes.
const HawkesName = "hawkes"

// HawkesOptions shape a marked Hawkes process with daily habits. Zero values are replaced by those of DefaultHawkes.
type HawkesOptions struct {
	Sources, Targets int
	Days             int
	PerDay           float64 // events of a source in a day that no other event leads to, on average
	Swing            float64 // by how much their rate rises and falls in a day: 1 from 0 to twice the mean
	Branching        float64 // events that every event leads to directly, on average
	Delay            float64 // seconds: mean time until they happen
	Repeat           float64 // how likely an event has the destination of the source's one before
	Seed             uint64
}

// DefaultHawkes is about forty thousand events.
var DefaultHawkes = HawkesOptions{Sources: 20, Targets: 30, Days: 120, PerDay: 8, Swing: 0.9, Branching: 0.5,
	Delay: 1800, Repeat: 0.3}

// Truth is what a Hawkes process was made from.
type Truth struct {
	HawkesOptions
	Phase []float64   // of each source: the part of the day at which it is most active
	Share [][]float64 // of each source: of its destinations, where it does not repeat the one before
}

// Hawkes makes a stream in which sources act more often at their own time of the day and for a while after each of
// their events. Their destinations are those of the event before, or drawn by fixed shares. Times are seconds from
// midnight on. The rate and the probability of every event are known: see Truth.
func Hawkes(o HawkesOptions) (*data.Set, *Truth, error) {
	o = o.withDefaults()
	if o.Sources < 1 || o.Targets < 2 || o.Days < 1 || !(o.PerDay > 0) || !(o.Swing >= 0 && o.Swing <= 1) ||
		!(o.Branching >= 0 && o.Branching < 1) || !(o.Delay > 0) || !(o.Repeat >= 0 && o.Repeat < 1) {
		return nil, nil, fmt.Errorf("a Hawkes process of %+v: want at least one source, two destinations and a day, "+
			"a rate and a delay above 0, a swing up to 1, a branching and a repetition below 1", o)
	}
	g := &synth{rng: rand.New(rand.NewPCG(o.Seed, 0x4a3c35))}
	truth := &Truth{HawkesOptions: o}
	for u := range o.Sources {
		truth.Phase = append(truth.Phase, g.rng.Float64())
		truth.Share = append(truth.Share, g.shares(o.Targets))
		g.hawkes(truth, u)
	}
	s, err := g.set(HawkesName)
	if err != nil {
		return nil, nil, err
	}
	s.Names, err = data.NewNames(sideNames(o.Sources, o.Targets), o.Sources)
	return s, truth, err
}

// shares draws those of destinations: 1, 1/2, 1/3 … in a random order, scaled to sum to 1.
func (g *synth) shares(n int) []float64 {
	list, sum := make([]float64, n), 0.0
	for place, i := range g.rng.Perm(n) {
		list[i] = 1 / float64(place+1)
		sum += list[i]
	}
	for i := range list {
		list[i] /= sum
	}
	return list
}

// hawkes adds the events of a source: times are proposed at a rate that is never exceeded, and kept in proportion.
func (g *synth) hawkes(t *Truth, u int) {
	excited, last, at, end := 0.0, -1, 0.0, float64(t.Days)*day
	for {
		most := t.PerDay/day*(1+t.Swing) + excited
		step := g.rng.ExpFloat64() / most
		if at += step; at >= end {
			return
		}
		excited *= math.Exp(-step / t.Delay)
		if g.rng.Float64()*most >= t.base(u, at)+excited {
			continue
		}
		last = t.draw(g.rng, u, last)
		g.events = append(g.events, event.Event{Src: event.Node(1 + u), Dst: event.Node(1 + t.Sources + last),
			Time: math.Floor(at*1000) / 1000})
		excited += t.Branching / t.Delay
	}
}

// base is the rate of a source, per second, as far as no event raises it.
func (t *Truth) base(u int, at event.Time) float64 {
	return t.PerDay / day * (1 + t.Swing*math.Cos(2*math.Pi*(at/day-t.Phase[u])))
}

// draw draws a destination after another one, −1 for none.
func (t *Truth) draw(rng *rand.Rand, u, last int) int {
	if last >= 0 && rng.Float64() < t.Repeat {
		return last
	}
	x := rng.Float64()
	for v, share := range t.Share[u] {
		if x -= share; x < 0 {
			return v
		}
	}
	return t.Targets - 1
}

// Bits is how many bits the destination of each event carries for whoever knows the process. Nats are −ln of the rate
// of its source at its time, per day.
func (t *Truth) Bits(events event.Span) (bits, nats []float64) {
	type state struct {
		excited float64
		at      event.Time
		last    event.Node
	}
	known := make([]state, t.Sources)
	for i := range events.Len() {
		u, v, at := int(events.Src[i])-1, int(events.Dst[i])-1-t.Sources, events.Time[i]
		s := &known[u]
		s.excited *= math.Exp(-(at - s.at) / t.Delay)
		p := t.Share[u][v]
		if s.last > 0 {
			if p *= 1 - t.Repeat; s.last == events.Dst[i] {
				p += t.Repeat
			}
		}
		bits = append(bits, -math.Log2(p))
		nats = append(nats, -math.Log((t.base(u, at)+s.excited)*day))
		s.excited += t.Branching / t.Delay
		s.at, s.last = at, events.Dst[i]
	}
	return bits, nats
}

func (o HawkesOptions) withDefaults() HawkesOptions {
	d := DefaultHawkes
	o.Sources, o.Targets, o.Days = cmp.Or(o.Sources, d.Sources), cmp.Or(o.Targets, d.Targets), cmp.Or(o.Days, d.Days)
	o.PerDay, o.Swing = cmp.Or(o.PerDay, d.PerDay), cmp.Or(o.Swing, d.Swing)
	o.Branching, o.Delay = cmp.Or(o.Branching, d.Branching), cmp.Or(o.Delay, d.Delay)
	o.Repeat = cmp.Or(o.Repeat, d.Repeat)
	return o
}
