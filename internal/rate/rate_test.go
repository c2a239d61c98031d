package rate

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/index"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/sample"
)

const day = 86400.0

// stream is a log of a few sources that act by day more often than by night, at whole minutes: several at one instant.
func stream(t testing.TB, days float64, seed uint64) *event.Log {
	t.Helper()
	gen, log := rng.New(seed, "stream"), event.NewLog(0)
	for at := 0.0; at < days*day; at -= math.Log(1-gen.Float64()) * 400 {
		if bin(at/day, 2) == 1 || gen.Below(5) == 0 {
			u := event.Node(1 + gen.Below(12))
			if _, err := log.Append(event.Event{Src: u, Dst: 20 + u%3, Time: math.Floor(at/60) * 60}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return log
}

var clock = Clock{Span: 7 * day, Day: day}

// What is known at t follows from the events before t, and is finite however far away t is.
func TestNothingOfTheFuture(t *testing.T) {
	log := stream(t, 6, 1)
	all := log.All()
	for _, i := range []int{0, 1, 57, 200, all.Len() - 1} {
		at := all.Time[i]
		past := log.Select(func(j int) bool { return all.Time[j] < at })
		mixed := event.NewLog(0)
		for j := range past.Len() {
			mixed.Append(past.At(j))
		}
		for j := range 50 {
			mixed.Append(event.Event{Src: event.Node(1 + j%12), Dst: 3, Time: at + float64(j/9)})
		}
		for _, u := range []event.Node{all.Src[i], 3, 77} {
			for _, c := range []Clock{clock, {Span: 1e5}} {
				for _, ahead := range []event.Time{0, 1, 1e9} {
					x := NewWalk(past.All(), c).Before(at).Features(nil, u, at, ahead)
					y := NewWalk(mixed.All(), c).Before(at).Features(nil, u, at, ahead)
					if !slices.Equal(x, y) {
						t.Errorf("event %d, source %d: another future says something else", i, u)
					}
					for k, v := range x {
						if math.IsNaN(float64(v)) || math.Abs(float64(v)) > 20 {
							t.Fatalf("event %d, source %d, %v ahead: feature %d is %v", i, u, ahead, k, v)
						}
					}
				}
			}
		}
	}
	w := NewWalk(all, clock)
	for _, at := range []event.Time{day, 2 * day, day, day, 0} { // also backwards
		want := log.Select(func(j int) bool { return all.Time[j] < at }).Len()
		if got := w.Before(at).Len(); got != want {
			t.Errorf("before %v: %d events are known, want %d", at, got, want)
		}
	}
}

// The points of a sweep have the weights of an integral over the time that each source is known: of 1, and of the hour.
func TestPointsIntegrate(t *testing.T) {
	all := stream(t, 6, 2).All()
	end := all.Time[all.Len()-1]
	seen, want := map[event.Node]bool{}, [2]float64{}
	for i, u := range all.Src {
		if !seen[u] {
			seen[u] = true
			want[0] += end - all.Time[i]
			for at := all.Time[i]; at < end; at += 60 {
				want[1] += 60 * math.Sin(2*math.Pi*at/day)
			}
		}
	}
	const keys = 20
	var sum [2]float64
	for key := range uint64(keys) {
		s := NewSweep(all, clock, 4, key)
		before := -1.0
		s.Before(end, func(p Point) {
			if p.At < before || s.State.Last() >= p.At || s.State.Count(p.Src) == 0 {
				t.Fatalf("point %+v comes after %v, the last event is at %v", p, before, s.State.Last())
			}
			before = p.At
			sum[0] += p.Weight * clock.Span / keys
			sum[1] += p.Weight * clock.Span * math.Sin(2*math.Pi*p.At/day) / keys
		})
	}
	for k := range sum {
		if math.Abs(sum[k]-want[k]) > 0.02*want[0] {
			t.Errorf("the integral is %v, want %v", sum[k], want[k])
		}
	}
}

// constant is a net whose rates are those of Offset, times a factor.
type constant float32

func (c constant) Outputs(_ bool, _, out []float32) error {
	for i := range out {
		out[i] = float32(c)
	}
	return nil
}

// A source whose rate is known is measured as such: as many events as were expected, and the nats of its entropy.
func TestMeasure(t *testing.T) {
	gen, log, at := rng.New(3, "poisson"), event.NewLog(0), 0.0
	for range 8000 { // ten sources, each 40 events a day
		at -= math.Log(1-gen.Float64()) * day / 400
		log.Append(event.Event{Src: event.Node(1 + gen.Below(10)), Dst: 11, Time: at})
	}
	a := NewAsker(constant(0), Plain)
	p := Period{Events: log.All(), Lo: 4000, Hi: 8000, Points: 8000, Key: 1}
	c := Clock{Span: 10 * day, Day: day}
	got, err := a.Measure(context.Background(), p, c)
	if err != nil || math.Abs(got.Expected/got.Observed-1) > 0.06 {
		t.Fatalf("expected %v, observed %v, %v", got.Expected, got.Observed, err)
	}
	if nats, want := got.Nats(c, day), 1-math.Log(40.0); math.Abs(nats-want) > 0.05 {
		t.Errorf("%v nats, want %v", nats, want)
	}
	p.Most = 2000 // half of them stand for all
	half, err := a.Measure(context.Background(), p, c)
	if err != nil || math.Abs(half.Observed/got.Observed-1) > 0.05 || math.Abs(half.Expected/got.Expected-1) > 0.08 {
		t.Errorf("half of the events give %+v, all %+v", half.Counts, got.Counts)
	}
}

// Batches of a feed do not depend on those before them, differ from epoch to epoch, and weigh silence as it lasted.
func TestFeedContinues(t *testing.T) {
	log := stream(t, 6, 6)
	gather := func(f *Feed, lo, hi int) Examples {
		b := sample.Batch{Events: log.Span(lo, hi), Positives: hi - lo}
		sample.Gatherer{}.Gather(index.Freeze(event.NewLog(0)), sample.Plan{Extras: []sample.Extra{f}},
			make([]sample.Query, hi-lo), &b)
		e := *b.Extras[0].(*Examples)
		e.feed = nil
		return e
	}
	same := func(a, b Rows) bool {
		return slices.Equal(a.X, b.X) && slices.Equal(a.Offset, b.Offset) && slices.Equal(a.Bound, b.Bound) &&
			slices.Equal(a.Weight, b.Weight) && slices.Equal(a.Count, b.Count)
	}
	whole, later := NewFeed(clock, 1), NewFeed(clock, 1)
	whole.Begin(2, log.All())
	gather(whole, 0, 50)
	first := gather(whole, 50, 100)
	later.Begin(2, log.All())
	if resumed := gather(later, 50, 100); !same(first.Now, resumed.Now) || !same(first.Ahead, resumed.Ahead) {
		t.Error("a resumed epoch has other examples")
	}
	later.Begin(3, log.All())
	if other := gather(later, 50, 100); same(first.Now, other.Now) {
		t.Error("another epoch has the same examples")
	}
	silence, events := 0.0, 0.0
	for lo := 0; lo+50 <= log.Len(); lo += 50 {
		e := gather(whole, lo, lo+50)
		for i, w := range e.Now.Weight {
			silence += float64(w)
			events += float64(e.Now.Count[i])
		}
	}
	// twelve sources are known for nearly six of seven days
	if per := silence / events * float64(log.Len()-12); math.Abs(per/(12*6.0/7)-1) > 0.15 {
		t.Errorf("the silence of all sources lasts %v training periods, want about %v", per, 12*6.0/7)
	}
}

// A window is at least as likely as a part of it, agrees with its source's rates, and shares less with fewer events.
func TestWindows(t *testing.T) {
	s := NewWalk(stream(t, 6, 4).All(), clock).Before(6 * day)
	a := NewAsker(constant(0.5), Plain)
	f, err := a.Forecast(s, 3, 6*day, 7*day)
	if err != nil || f.Beyond != 0 || f.Unknown {
		t.Fatal(err, f.Beyond, f.Unknown)
	}
	before := Window{}
	for _, h := range []event.Time{1, 60, 3600, day, 7 * day} {
		all, part := f.Within(h, 1, 1), f.Within(h, 0.2, 0.1)
		if !(all.Probability > before.Probability) || !(all.Expected > before.Expected) ||
			!(part.Probability < all.Probability) || !(part.Expected <= all.Expected) ||
			all.Expected < all.Probability || part.Expected < part.Probability {
			t.Errorf("within %v: %+v of all, %+v of a part, %+v in less time", h, all, part, before)
		}
		before = all
	}
	if short := f.Within(1, 1, 1); math.Abs(short.Probability/f.Now-1) > 0.05 {
		t.Errorf("within 1 s: %v, the rate is %v", short.Probability, f.Now)
	}
	// clusters: of 2 events expected, with e^-1 none at all
	if p0 := without(2, 1, 1); math.Abs(p0-math.Exp(-1)) > 1e-9 {
		t.Errorf("no event with %v, want %v", p0, math.Exp(-1))
	}
	if a, b := without(2, 1, 0.1), without(2, 2, 0.1); !(a > b) {
		t.Errorf("clusters miss a share with %v, single events with %v", a, b)
	}
	c := Calibration{Shift: 0.3, Slope: 0.8}
	if x, y := c.Pair(Window{Probability: 0.01}), c.Pair(Window{Probability: 0.02}); !(x.Probability < y.Probability) {
		t.Errorf("a calibration turns the order round: %v, %v", x, y)
	}
}

// Long after the data, and for sources that nobody has seen, next to nothing happens, whatever a net says.
func TestFarAway(t *testing.T) {
	log := stream(t, 6, 5)
	last := log.At(log.Len() - 1).Time
	a, walk := NewAsker(constant(3), Plain), NewWalk(log.All(), clock)
	for _, u := range []event.Node{3, 500} {
		at := last + 5*365*day
		s := walk.Before(at)
		f, err := a.Forecast(s, u, at, day)
		if p := f.Within(day, 1, 1).Probability; err != nil || p > 0.01 || s.Warning(u, at) == "" {
			t.Errorf("source %d five years later: %v, warning %q, %v", u, p, s.Warning(u, at), err)
		}
	}
	s := walk.Before(last + 1)
	if f, _ := a.Forecast(s, 500, last+1, day); f.Within(day, 1, 1).Probability > 0.2 || !f.Unknown {
		t.Errorf("a source that nobody has seen: %+v", f.Within(day, 1, 1))
	}
	if s.Warning(3, last+1) != "" {
		t.Errorf("a warning right after the data: %s", s.Warning(3, last+1))
	}
	// a source that falls silent while others go on
	for i := range 4000 {
		log.Append(event.Event{Src: 1, Dst: 20, Time: last + float64(i+1)*3600})
	}
	at := last + 4000*3600
	s = NewWalk(log.All(), clock).Before(at)
	if f, _ := a.Forecast(s, 3, at, day); f.Now*day > 0.2 {
		t.Errorf("after half a year of silence the rate is %v a day", f.Now*day)
	}
}

// The table of an epoch goes through all training events. It stops where nobody wants it any more, and is drawn again
// by the next who asks.
func TestTableStops(t *testing.T) {
	log := stream(t, 120, 3)
	if log.Len() < 2*someEvents {
		t.Fatalf("%d events are too few for this test", log.Len())
	}
	f := NewFeed(clock, 1)
	f.Begin(0, log.All())
	asked := 0
	if got := f.newTable(func() bool { asked++; return asked == 2 }); got != nil || asked != 2 {
		t.Errorf("a table %v after it was asked %d times, want none after 2", got != nil, asked)
	}
	done := make(chan struct{})
	close(done)
	var b sample.Batch
	plan := sample.Plan{Extras: []sample.Extra{f}}
	b.Events = log.All().Slice(0, 10)
	sample.Gatherer{Done: done}.Gather(nil, plan, nil, &b)
	if f.table != nil {
		t.Error("there is a table although nobody waited")
	}
	sample.Gather(nil, plan, nil, &b)
	if f.table == nil {
		t.Error("there is no table for the next batch")
	}
}
