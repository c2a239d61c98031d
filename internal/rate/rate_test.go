package rate

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
)

const day = 86400.0

// learnsLong marks tests that learn for ten seconds. The race detector, which makes that a minute, has others.
func learnsLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("learns for long")
	}
}

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
					x := NewWalk(past.All(), constant(c, 0)).Before(at).Features(nil, u, at, ahead)
					y := NewWalk(mixed.All(), constant(c, 0)).Before(at).Features(nil, u, at, ahead)
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
	w := NewWalk(all, Plain(clock))
	for _, at := range []event.Time{day, 2 * day, day, day, 0} { // also backwards
		want := log.Select(func(j int) bool { return all.Time[j] < at }).Len()
		if got := w.Before(at).Len(); got != want {
			t.Errorf("before %v: %d events are known, want %d", at, got, want)
		}
	}
}

// Points have the weights of an integral over the time that each source is known: of 1, and of the hour.
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
		points, before := newPoints(clock, 4, 0, key), -1.0
		for i, u := range all.Src {
			for p, ok := points.next(all.Time[i]); ok; p, ok = points.next(all.Time[i]) {
				if p.At < before || p.At > all.Time[i] {
					t.Fatalf("point %+v comes after %v, before %v", p, before, all.Time[i])
				}
				before = p.At
				sum[0] += p.Weight * clock.Span / keys
				sum[1] += p.Weight * clock.Span * math.Sin(2*math.Pi*p.At/day) / keys
			}
			points.act(u, all.Time[i])
		}
	}
	for k := range sum {
		if math.Abs(sum[k]-want[k]) > 0.02*want[0] {
			t.Errorf("the integral is %v, want %v", sum[k], want[k])
		}
	}
}

// Five years after the data no pair has an event within a day, whatever corrections validation has found: those were
// made where rates had not fallen.
func TestCorrectionsFade(t *testing.T) {
	all := stream(t, 6, 2).All()
	m := constant(Clock{Span: 1000 * day, Day: day}, 0)
	for k := range m.Windows {
		m.Windows[k].Probability = [3]float32{0, 0.1, 0}
		m.Windows[k].Expected = [3]float32{0, 0.1, 0}
		m.Windows[k].Seen = SeenAll
	}
	last := all.Time[all.Len()-1]
	for _, x := range []struct {
		u  event.Node
		at event.Time
	}{{all.Src[0], last + 5*365*day}, {500, last}} { // and whoever has never acted
		f := NewAsker(m).Forecast(NewWalk(all, m).Before(x.at), x.u, x.at, day)
		if w := f.Pair(day, 1e-3, 1e-3); w.Probability > 1e-3 || w.Expected > 1e-3 {
			t.Errorf("source %d: %+v", x.u, w)
		}
	}
	m.Windows[2].Probability = [3]float32{-9, 1, 0}
	f := NewAsker(m).Forecast(NewWalk(all, m).Before(last), all.Src[0], last, 7*day)
	if a, b := f.Pair(day, 0.1, 0.1), f.Pair(7*day, 0.1, 0.1); a.Probability > b.Probability {
		t.Errorf("%v within a day, %v within a week", a, b)
	}
}

// Points are among the times that events have, one step after another, and so are questions.
func TestLattice(t *testing.T) {
	var l lattice
	if l.note(600); l.up(601) != 601 {
		t.Error("one event has steps")
	}
	for _, at := range []event.Time{600, 780, 1200, 2400} {
		l.note(at)
	}
	for at, want := range map[event.Time]event.Time{601: 660, 660: 660, 661: 720, 5000: 5040} {
		if got := l.up(at); got != want {
			t.Errorf("%v after %v, want %v", got, at, want)
		}
	}
	points := newPoints(clock, 3, 0, 1)
	for _, at := range []event.Time{600, 780, 1200, 2400} {
		points.act(1, at)
	}
	for range 30 {
		if p, ok := points.next(1e9); !ok || p.At < 2460 || math.Mod(p.At, 60) != 0 {
			t.Fatalf("point %+v, %v", p, ok)
		}
	}
	if l.note(2400.5); l.up(601) != 601 {
		t.Error("times that are not whole have steps")
	}
}

// Points that are narrow enough integrate over each hour of the day, not only over all of them.
func TestPointsIntegrateHours(t *testing.T) {
	all := stream(t, 6, 2).All()
	end := all.Time[all.Len()-1]
	var want, got [24]float64
	seen := map[event.Node]bool{}
	points := newPoints(clock, 1, clock.widestPiece(6, end, 1e5), 5)
	for i, u := range all.Src {
		for p, ok := points.next(all.Time[i]); ok; p, ok = points.next(all.Time[i]) {
			got[bin(p.At/day, 24)] += p.Weight * clock.Span
		}
		points.act(u, all.Time[i])
		if !seen[u] {
			seen[u] = true
			for at := all.Time[i]; at < end; at += 10 {
				want[bin(at/day, 24)] += 10
			}
		}
	}
	for h := range want {
		if math.Abs(got[h]-want[h]) > 0.03*want[h] {
			t.Errorf("hour %d: %v seconds, want %v", h, got[h], want[h])
		}
	}
}

// constant is a model whose rates are those of Offset, times a factor.
func constant(c Clock, log float32) *Model {
	m, tree := Plain(c), make(Forest, treeLen)
	for i := range tree[2*inner:] {
		tree[2*inner+i] = log
	}
	m.Now, m.Ahead = tree, tree
	return m
}

// A source whose rate is known is measured as such: as many events as were expected, and the nats of its entropy.
func TestMeasure(t *testing.T) {
	gen, log, at := rng.New(3, "poisson"), event.NewLog(0), 0.0
	for range 8000 { // ten sources, each 40 events a day
		at -= math.Log(1-gen.Float64()) * day / 400
		log.Append(event.Event{Src: event.Node(1 + gen.Below(10)), Dst: 11, Time: at})
	}
	c := Clock{Span: 10 * day, Day: day}
	a := NewAsker(constant(c, 0))
	p := Period{Events: log.All(), Lo: 4000, Hi: 8000, Points: 16000, Key: 1}
	got, err := a.Measure(context.Background(), p)
	if err != nil || math.Abs(got.Expected/got.Observed-1) > 0.06 {
		t.Fatalf("expected %v, observed %v, %v", got.Expected, got.Observed, err)
	}
	if nats, want := got.Nats(c, day), 1-math.Log(40.0); math.Abs(nats-want) > 0.05 {
		t.Errorf("%v nats, want %v", nats, want)
	}
	p.Most = 2000 // half of them stand for all
	half, err := a.Measure(context.Background(), p)
	if err != nil || math.Abs(half.Observed/got.Observed-1) > 0.05 || math.Abs(half.Expected/got.Expected-1) > 0.08 {
		t.Errorf("half of the events give %+v, all %+v", half.Counts, got.Counts)
	}
	// nothing changes, and there are 17 events at an hour of a day: a few days of them are enough
	if _, err := a.ChooseDrift(context.Background(), p, day); err != nil || a.Drift.Hours != 0 {
		t.Errorf("%+v, %v", a.Drift, err)
	}
}

// A window is at least as likely as a part of it, agrees with its source's rates, and shares less with fewer events.
func TestWindows(t *testing.T) {
	s := NewWalk(stream(t, 6, 4).All(), Plain(clock)).Before(6 * day)
	a := NewAsker(constant(clock, 0.5))
	f := a.Forecast(s, 3, 6*day, 7*day)
	if f.Beyond != 0 || f.Unknown {
		t.Fatal(f.Beyond, f.Unknown)
	}
	before := Window{}
	for _, h := range []event.Time{1, 60, 3600, day, 7 * day} {
		all, part := f.Within(h), f.Pair(h, 0.2, 0.1)
		if !(all.Probability > before.Probability) || !(all.Expected > before.Expected) ||
			!(part.Probability < all.Probability) || !(part.Expected <= all.Expected) ||
			all.Expected < all.Probability || part.Expected < part.Probability {
			t.Errorf("within %v: %+v of all, %+v of a part, %+v in less time", h, all, part, before)
		}
		before = all
	}
	if short := f.Within(1); math.Abs(short.Probability/f.Now-1) > 0.05 {
		t.Errorf("within 1 s: %v, the rate is %v", short.Probability, f.Now)
	}
	// clusters: of 2 events expected, with e^-1 none at all
	if p0 := without(2, 1, 1); math.Abs(p0-math.Exp(-1)) > 1e-9 {
		t.Errorf("no event with %v, want %v", p0, math.Exp(-1))
	}
	if a, b := without(2, 1, 0.1), without(2, 2, 0.1); !(a > b) {
		t.Errorf("clusters miss a share with %v, single events with %v", a, b)
	}
	c := Correction{Probability: [3]float32{0.3, 0.8, 0}, Expected: [3]float32{0, 1, 0}}
	x, y := c.Pair(Window{0.01, 0.01}, 0.1, 0.1), c.Pair(Window{0.02, 0.02}, 0.1, 0.1)
	if !(x.Probability < y.Probability) {
		t.Errorf("a calibration turns the order round: %v, %v", x, y)
	}
}

// Long after the data, and for sources that nobody has seen, next to nothing happens, whatever a net says.
func TestFarAway(t *testing.T) {
	log := stream(t, 6, 5)
	last := log.At(log.Len() - 1).Time
	m := constant(clock, 3)
	a, walk := NewAsker(m), NewWalk(log.All(), m)
	for _, u := range []event.Node{3, 500} {
		at := last + 5*365*day
		s := walk.Before(at)
		f := a.Forecast(s, u, at, day)
		if p := f.Within(day).Probability; p > 0.01 || s.Warning(u, at) == "" {
			t.Errorf("source %d five years later: %v, warning %q", u, p, s.Warning(u, at))
		}
	}
	s := walk.Before(last + 1)
	if f := a.Forecast(s, 500, last+1, day); f.Within(day).Probability > 0.2 || !f.Unknown {
		t.Errorf("a source that nobody has seen: %+v", f.Within(day))
	}
	if s.Warning(3, last+1) != "" {
		t.Errorf("a warning right after the data: %s", s.Warning(3, last+1))
	}
}

// Silence of a source does not mean that all others are silent: what is known of them stays as it is.
func TestSilenceOfOne(t *testing.T) {
	s := NewState(clock)
	for at := 0.0; at < 6*day; at += 600 {
		s.Add(event.Node(1+int(at/600)%5), 20, at)
	}
	const at = 6 * day
	now, faded := s.Features(nil, 1, at, 0), s.features(nil, 1, at, 0, at+day)
	f := 0
	for f < len(now) && now[f] <= faded[f] {
		f++
	}
	if f == len(now) {
		t.Fatal("no feature falls while all are silent")
	}
	m := constant(clock, -5)
	m.Now[0], m.Now[1] = float32(f), (now[f]+faded[f])/2
	for i := range 1 << (depth - 1) {
		m.Now[2*inner+1<<(depth-1)+i] = 0
	}
	got, want := NewAsker(m).Forecast(s, 1, at, day), NewAsker(constant(clock, 0)).Forecast(s, 1, at, day)
	if !slices.Equal(got.Silent, want.Silent) {
		t.Errorf("the rates of silence are %v, want %v", got.Silent, want.Silent)
	}
}
