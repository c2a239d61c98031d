package eval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/cache"
	"github.com/dygmamba/dygmamba/internal/next"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
)

// The task "next" asks of every event: who was it? A model gives a probability to each destination that was seen
// strictly before, and one to a new destination. What counts is how many bits it takes to tell the one that it was.

// Next is what a model needs for the destinations of a part, in bits per event.
type Next struct {
	Scenario protocol.Scenario `json:"setting"`
	Events   int               `json:"events"`       // that were asked about
	Of       int               `json:"of,omitempty"` // events that there are, where that is more
	// Where the time was up before all that were drawn were asked about: how many were drawn, and from how many of the
	// first events.
	Drawn     int     `json:"drawn,omitempty"`
	DrawnFrom int     `json:"drawn_from,omitempty"`
	WhoBits   float64 `json:"who_bits"`
	Returning float64 `json:"who_bits_returning"` // events whose pair had met before, in either direction
	First     float64 `json:"who_bits_first"`     // the others
	Share     float64 `json:"first_share"`        // of the others
	// MRR and Hits10 are of the place of the destination among all candidates, which a new one is one of. Nil in
	// validation, where only candidates of the destination's own group are asked about.
	MRR    *float64 `json:"mrr,omitempty"`
	Hits10 *float64 `json:"hits_10,omitempty"`
	// 95 % confidence intervals, where not all events were asked about.
	WhoBitsCI   *[2]float64 `json:"who_bits_ci,omitempty"`
	ReturningCI *[2]float64 `json:"who_bits_returning_ci,omitempty"`
	FirstCI     *[2]float64 `json:"who_bits_first_ci,omitempty"`
	*When                   // of a model that knows rates
}

// OrNil is nil where there were no events.
func (n Next) OrNil() *Next {
	if n.Events == 0 {
		return nil
	}
	return &n
}

// Events of the task "next" that are asked about where nobody says how many: each is held against all destinations.
const (
	NextValidation = 2000 // after every epoch
	NextSample     = 5000 // when a training is over
	leastAsked     = 30   // also where the time is up
)

// Again asks about the same events, without a limit of time.
func (n *Next) Again() NextOptions {
	return NextOptions{Limit: cmp.Or(n.Drawn, n.Events), first: n.Events, from: n.DrawnFrom}
}

// NextOptions say what to ask.
type NextOptions struct {
	Limit int // number of test events, drawn with a fixed seed; 0: all
	// Until is when to stop asking, after leastAsked events; zero: never. Where only a window of the latest events
	// counts, events are then drawn from the first of the part, as many as the window has.
	Until   time.Time
	Windows int                   // random times at which windows are asked about; 0: a few
	OnEvent func(done, total int) // progress; may be nil
	OnBits  func(bits float64)    // told of every event in turn; may be nil

	first int // of the draw are asked about; 0: all
	from  int // number of first events that the draw is from; 0: all
}

// inWindow draws from the first window of events, where only a window counts and time is short: to count all would take
// longer than to ask.
func (o NextOptions) inWindow(setup next.Setup) NextOptions {
	if !o.Until.IsZero() {
		o.from = setup.Window
	}
	return o
}

// draw is the events of n that are asked about, in their order.
func (o *NextOptions) draw(n int) []int32 {
	chosen := drawn(min(n, cmp.Or(o.from, n)), o.Limit)
	return chosen[:min(len(chosen), cmp.Or(o.first, len(chosen)))]
}

// Next measures a net on the test events.
func (p *Protocol) Next(ctx context.Context, net *model.Net, o NextOptions) (Next, error) {
	ask, sums := next.NewAsker(net, p.options.Threads), nextSums{}
	mrr, hits := 0.0, 0.0
	o = o.inWindow(net.Setup())
	err := p.eachNext(ctx, Test, net, o, func(w *next.View, dst event.Node) error {
		s, err := ask.Shares(w)
		if err != nil {
			return err
		}
		bits := s.Bits(dst)
		sums.add(bits, w.Met(dst))
		if o.OnBits != nil {
			o.OnBits(bits)
		}
		place := placeOf(s.Of(dst), s)
		mrr += 1 / place
		if place <= 10 {
			hits++
		}
		return nil
	})
	r := sums.result(p.parts[Test].Len())
	if all := p.parts[Test].Len(); r.Events < min(cmp.Or(o.Limit, all), all) || 0 < o.from && o.from < all {
		r.Drawn, r.DrawnFrom = min(cmp.Or(o.Limit, all), cmp.Or(o.from, all), all), o.from
	}
	if n := float64(r.Events); n > 0 {
		mrr, hits = mrr/n, hits/n
		r.MRR, r.Hits10 = &mrr, &hits
	}
	return r, err
}

// ValidateNext measures a net on a seeded draw of validation events and calibrates it on them.
func (p *Protocol) ValidateNext(ctx context.Context, net *model.Net) (Next, error) {
	return p.CalibrateNext(ctx, net, time.Time{})
}

// CalibrateNext is ValidateNext that asks about fewer events where the time is up meanwhile; zero: there is no limit.
func (p *Protocol) CalibrateNext(ctx context.Context, net *model.Net, until time.Time) (Next, error) {
	if err := net.Calibrate(next.Plain); err != nil {
		return Next{}, err
	}
	ask, fit := next.NewAsker(net, p.options.Threads), next.Fit{}
	o := NextOptions{Limit: NextValidation, OnEvent: p.options.OnBatch, Until: until}
	err := p.eachNext(ctx, Val, net, o, func(w *next.View, dst event.Node) error {
		return fit.Add(ask, w, dst)
	})
	if err != nil {
		return Next{}, err
	}
	c, sums := fit.Calibration(), nextSums{}
	fit.Each(c, func(met bool, nats float64) { sums.add(nats/math.Ln2, met) })
	return sums.result(p.parts[Val].Len()), net.Calibrate(c)
}

// eachNext walks through all events and asks about some of a part, each as of its time.
func (p *Protocol) eachNext(ctx context.Context, part Part, net *model.Net, o NextOptions,
	ask func(w *next.View, dst event.Node) error,
) error {
	return p.withPairs(ctx, net, p.full, p.parts[part].All(), func() error {
		return p.eachOf(ctx, part, net.Setup(), o, ask)
	})
}

func (p *Protocol) eachOf(ctx context.Context, part Part, setup next.Setup, o NextOptions,
	ask func(w *next.View, dst event.Node) error,
) error {
	events := p.parts[part].All()
	walk, view := next.NewWalk(p.split.Full.All(), setup), (*next.View)(nil)
	o = o.inWindow(setup)
	chosen := o.draw(events.Len())
	for done, i := range chosen {
		if done >= leastAsked && over(o.Until) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped after %d of %d events: %w", done, len(chosen), err)
		}
		counts, err := walk.Reach(ctx, events.Time[i])
		if err != nil {
			return fmt.Errorf("stopped after %d of %d events: %w", done, len(chosen), err)
		}
		view = counts.At(view, events.Src[i], events.Time[i])
		if err := ask(view, events.Dst[i]); err != nil {
			return err
		}
		if o.OnEvent != nil {
			o.OnEvent(done+1, len(chosen))
		}
	}
	return nil
}

// placeOf is the place of a share among all candidates, from 1: equal ones stand half before it and half behind.
func placeOf(share float64, s *next.Shares) float64 {
	place := 0.5
	for _, x := range append(s.Share, s.New) {
		if x > share {
			place++
		} else if x == share {
			place += 0.5 // itself too
		}
	}
	return place
}

// NextRules are what counting alone needs for the same events: see package cache.
func (p *Protocol) NextRules(o NextOptions) []cache.Bits {
	full, test := p.split.Full, p.split.Full.Len()-p.split.Test.Len()
	list, _ := cache.Measure(full.All(), test-p.split.Val.Len(), test, o.draw(p.parts[Test].Len()))
	return list
}

// nextSums adds up bits: of returning pairs, and of first meetings.
type nextSums struct{ bits, squares, events [2]float64 }

func (s *nextSums) add(bits float64, met bool) {
	k := 1
	if met {
		k = 0
	}
	s.bits[k] += bits
	s.squares[k] += bits * bits
	s.events[k]++
}

// result is the means; of is how many events there are.
func (s *nextSums) result(of int) Next {
	r := Next{Scenario: protocol.Transductive, Events: int(s.events[0] + s.events[1])}
	var ci [3]*[2]float64
	bits, squares, events := s.bits[0]+s.bits[1], s.squares[0]+s.squares[1], s.events[0]+s.events[1]
	for k, x := range [][3]float64{{bits, squares, events}, {s.bits[0], s.squares[0], s.events[0]},
		{s.bits[1], s.squares[1], s.events[1]}} {
		mean := x[0] / max(1, x[2])
		*[]*float64{&r.WhoBits, &r.Returning, &r.First}[k] = mean
		if r.Events < of && x[2] > 1 {
			half := 1.96 * math.Sqrt(max(0, x[1]/x[2]-mean*mean)/(x[2]-1))
			ci[k] = &[2]float64{mean - half, mean + half}
		}
	}
	if r.WhoBitsCI, r.ReturningCI, r.FirstCI = ci[0], ci[1], ci[2]; r.Events < of {
		r.Of = of
	}
	r.Share = s.events[1] / max(1, events)
	return r
}
