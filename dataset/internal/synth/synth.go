// Package synth answers: which streams have a pattern that is known?
//
// Paper makes the three of the DyGMamba paper, Periodic a small one that every pair walks through in a rhythm of its
// own, Habits one of people who go to places at their hours of the week.
package synth

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
)

// PaperOptions choose among the readings of the paper's description of S1, S2 and S3. The zero value is the one its
// tables imply.
type PaperOptions struct {
	Seed     uint64
	Pairs    int    // 49 (or 0): all ordered pairs of the 7 nodes, with themselves too; 42: without; 21: unordered
	IDs      string // IDsShared (or ""), IDsSeparate
	FirstGap string // GapCents (or ""), GapReal, GapInteger
}

// Values of PaperOptions.
const (
	IDsShared   = "shared"   // 7 nodes that are both sources and destinations
	IDsSeparate = "separate" // 7 sources and 7 destinations
	GapCents    = "cents"    // a pair's first gap has two decimals
	GapReal     = "real"     // it is any number; times are rounded to two decimals
	GapInteger  = "integer"  // it is a whole number
)

// PaperNames are the data sets Paper makes.
var PaperNames = []string{"s1", "s2", "s3"}

// Paper makes S1, S2 or S3 of the DyGMamba paper's appendix on synthetic data: pairs of 7 nodes whose gaps grow by 0.05
// (s1), shrink by 0.05 (s2), or grow and start over in eight periods (s3).
//
// The originals were not published, nor how first gaps and numbers of events were drawn. What is here follows from the
// published tables:
//   - 49 pairs: 70,000 training events, 1428.57 for each pair;
//   - first gaps of two decimals: two pairs with the same one share all their times, which explains the missing
//     distinct times of each set;
//   - s2 and s3 with first gaps in a range of about 5 above 800: nearly the same number of training events for all
//     pairs, and the time range;
//   - s3 with a period of its own for each pair, the same number of events in each of the eight, and one where the last
//     ends: 1721 and 2193 events are 8·215+1 and 8·274+1, and (95,657−49)/8 is a whole number.
func Paper(name string, o PaperOptions) (*data.Set, error) {
	g := &synth{rng: rand.New(rand.NewPCG(o.Seed, 0x5c1)), gap: o.FirstGap}
	pairs, err := g.pairs(o)
	if err != nil {
		return nil, err
	}
	switch name {
	case "s1":
		for i, n := range g.counts(len(pairs), 100_000, 1879, 2150) {
			g.run(pairs[i], 0, n, g.draw(1, 28), 0.05)
		}
	case "s2":
		for i, n := range g.counts(len(pairs), 100_000, 1921, 2097) {
			g.run(pairs[i], 0, n, g.draw(800, 805), -0.05)
		}
	case "s3":
		const periods, total = 8, 11_951
		for i, n := range g.counts(len(pairs), total, 215, 274) {
			start, first := 0.0, g.draw(800, 805)
			for range periods {
				g.run(pairs[i], start, n, first, 0.05)
				start = after(start, n, first, 0.05)
			}
			g.run(pairs[i], start, 1, first, 0.05) // where the last period ends
		}
	default:
		return nil, fmt.Errorf("no synthetic data set %q, want s1, s2 or s3", name)
	}
	return g.set(name)
}

// synth collects events pair by pair.
type synth struct {
	rng    *rand.Rand
	gap    string
	events []event.Event
}

func (g *synth) pairs(o PaperOptions) ([][2]event.Node, error) {
	const nodes = 7
	var shift event.Node
	switch o.IDs {
	case "", IDsShared:
	case IDsSeparate:
		shift = nodes
	default:
		return nil, fmt.Errorf("ids %q, want %s or %s", o.IDs, IDsShared, IDsSeparate)
	}
	if !slices.Contains([]string{"", GapReal, GapCents, GapInteger}, o.FirstGap) {
		return nil, fmt.Errorf("first gap %q, want %s, %s or %s", o.FirstGap, GapReal, GapCents, GapInteger)
	}
	if o.Pairs == 0 {
		o.Pairs = nodes * nodes
	}
	var pairs [][2]event.Node
	for u := event.Node(1); u <= nodes; u++ {
		for v := event.Node(1); v <= nodes; v++ {
			if o.Pairs == 49 || o.Pairs == 42 && u != v || o.Pairs == 21 && u < v {
				pairs = append(pairs, [2]event.Node{u, v + shift})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%d pairs, want 49, 42 or 21", o.Pairs)
	}
	return pairs, nil
}

// counts draws n numbers that sum to total, each between low and high events where there are 49 of them, and in
// proportion where fewer.
func (g *synth) counts(n, total, low, high int) []int {
	low, high = low*49/n, high*49/n
	counts := make([]int, n)
	sum := 0
	for i := range counts {
		counts[i] = low + g.rng.IntN(high-low+1)
		sum += counts[i]
	}
	for sum != total {
		i := g.rng.IntN(n)
		switch {
		case sum < total && counts[i] < high:
			counts[i]++
			sum++
		case sum > total && counts[i] > low:
			counts[i]--
			sum--
		}
	}
	return counts
}

// draw draws a first gap.
func (g *synth) draw(low, high float64) float64 {
	v := low + g.rng.Float64()*(high-low)
	switch g.gap {
	case GapInteger:
		return math.Round(v)
	case GapReal:
		return v
	}
	return cents(v)
}

// run adds n events of a pair, the first at start, the gap between them changing by step each time.
func (g *synth) run(pair [2]event.Node, start float64, n int, gap, step float64) {
	for i := range n {
		g.events = append(g.events, event.Event{Src: pair[0], Dst: pair[1], Time: cents(after(start, i, gap, step))})
	}
}

// after is the time of the event that n gaps separate from the one at start.
func after(start float64, n int, gap, step float64) float64 {
	k := float64(n)
	return start + k*gap + step/2*k*(k-1)
}

// set sorts the events; of those at one time, the pair that was generated first comes first.
func (g *synth) set(name string) (*data.Set, error) {
	slices.SortStableFunc(g.events, func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) })
	log := event.NewLog(len(g.events))
	for _, e := range g.events {
		if _, err := log.Append(e); err != nil {
			return nil, err
		}
	}
	return data.Featureless(name, log), nil
}

func cents(v float64) float64 { return math.Round(v*100) / 100 }

// PeriodicOptions shape a Periodic stream. Zero values are replaced by those of DefaultPeriodic.
type PeriodicOptions struct {
	Sources, Targets int
	Events           int
	ShortGap         float64 // periods of the pairs are spread from here … (evenly on a logarithmic scale)
	LongGap          float64 // … to here
	Jitter           float64 // every gap is off by up to this part of the period
	Noise            float64 // part of the events that are random meetings outside all rhythm
	Seed             uint64
}

// DefaultPeriodic is small enough to learn in a minute.
var DefaultPeriodic = PeriodicOptions{Sources: 10, Targets: 10, Events: 6000, ShortGap: 10, LongGap: 200,
	Jitter: 0.02, Noise: 0.05}

// Periodic makes a bipartite stream in which every pair meets in a rhythm of its own; see dataset.Periodic.
func Periodic(o PeriodicOptions) (*data.Set, error) {
	o = o.withDefaults()
	if o.Sources < 1 || o.Targets < 1 || o.Events < 1 || !(o.ShortGap > 0) || !(o.LongGap >= o.ShortGap) ||
		!(o.Jitter >= 0 && o.Jitter < 1) || !(o.Noise >= 0 && o.Noise < 1) {
		return nil, fmt.Errorf("periodic stream of %+v: want at least one source, target and event, "+
			"0 < ShortGap ≤ LongGap, jitter and noise from 0 to below 1", o)
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x9e10d1c))
	g := &synth{rng: rng}
	pairs := o.Sources * o.Targets
	rate := 0.0 // events of all pairs in a unit of time
	periods := make([]float64, pairs)
	for i, k := range rng.Perm(pairs) {
		periods[i] = o.ShortGap * math.Pow(o.LongGap/o.ShortGap, (float64(k)+0.5)/float64(pairs))
		rate += 1 / periods[i]
	}
	end := float64(o.Events) * (1 - o.Noise) / rate
	for i, period := range periods {
		pair := [2]event.Node{event.Node(1 + i/o.Targets), event.Node(1 + o.Sources + i%o.Targets)}
		for at := rng.Float64() * period; at < end; at += period * (1 + o.Jitter*(2*rng.Float64()-1)) {
			g.run(pair, at, 1, 0, 0)
		}
	}
	for range int(float64(o.Events) * o.Noise) {
		pair := [2]event.Node{event.Node(1 + rng.IntN(o.Sources)), event.Node(1 + o.Sources + rng.IntN(o.Targets))}
		g.run(pair, rng.Float64()*end, 1, 0, 0)
	}
	s, err := g.set("periodic")
	if err != nil {
		return nil, err
	}
	s.Names, err = data.NewNames(sideNames(o.Sources, o.Targets), o.Sources)
	s.Sampling = protocol.Native
	return s, err
}

func (o PeriodicOptions) withDefaults() PeriodicOptions {
	d := DefaultPeriodic
	o.Sources, o.Targets = cmp.Or(o.Sources, d.Sources), cmp.Or(o.Targets, d.Targets)
	o.Events = cmp.Or(o.Events, d.Events)
	o.ShortGap = cmp.Or(o.ShortGap, d.ShortGap)
	o.LongGap = cmp.Or(o.LongGap, max(d.LongGap, o.ShortGap))
	o.Jitter, o.Noise = cmp.Or(o.Jitter, d.Jitter), cmp.Or(o.Noise, d.Noise)
	return o
}

// sideNames are u1, u2, … and v1, v2, ….
func sideNames(sources, targets int) []string {
	var names []string
	for i := range sources {
		names = append(names, fmt.Sprintf("u%d", i+1))
	}
	for i := range targets {
		names = append(names, fmt.Sprintf("v%d", i+1))
	}
	return names
}
