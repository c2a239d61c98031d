package synth

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dygmamba/dygmamba/dataset/internal/data"
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/protocol"
)

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
