package rate

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// A time at which an hour begins belongs to that hour, though quotients are not exact.
func TestHoursBegin(t *testing.T) {
	for d := range 20_000 {
		for h := range 24 {
			if at := float64(d)*day + float64(h)*3600; bin(at/day, 24) != h || bin(at/(7*day), weekly) != d%7*24+h {
				t.Fatalf("hour %d of day %d is hour %d of the day, and %d of the week",
					h, d, bin(at/day, 24), bin(at/(7*day), weekly))
			}
		}
	}
}

// eveningStream has events late in one hour of each day, sometimes few and sometimes many, and others all day long.
func eveningStream(days int) event.Span {
	gen, times := rng.New(8, "evening"), []event.Time(nil)
	for d := range days {
		for range 10 + gen.Below(4)*gen.Below(30) {
			times = append(times, (float64(d)+21.75/24+gen.Float64()*0.25/24)*day)
		}
		for range 200 {
			times = append(times, (float64(d)+gen.Float64()*20/24)*day)
		}
	}
	slices.Sort(times)
	log := event.NewLog(0)
	for _, at := range times {
		log.Append(event.Event{Src: event.Node(1 + gen.Below(20)), Dst: 30, Time: at})
	}
	return log.All()
}

// As many events as happen are expected at an hour, also where they come late in it and in clusters: the silence
// before them counts as it was answered, and every event of the hour counts the same.
func TestDriftOfAnHour(t *testing.T) {
	learnsLong(t)
	all := eveningStream(80)
	m := constant(Clock{Span: 30 * day, Day: day}, 0.5)
	m.Drift = Drift{-1, len(hourMemory) - 1}
	p := Period{Events: all, Hi: all.Len(), Points: 100_000}
	p.Lo = slices.IndexFunc(all.Time, func(t event.Time) bool { return t > 40*day })
	got, err := NewAsker(m).Measure(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if x := got.Hours[21]; math.Abs(x.Expected/x.Observed-1) > 0.06 {
		t.Errorf("%+v, want as many events expected as happen", x)
	}
}

// Hours with few events are judged by as many points as others, about.
func TestPointsAtRareHours(t *testing.T) {
	gen, log := rng.New(9, "rare"), event.NewLog(0)
	for at := 0.0; at < 12*day; at -= math.Log(1-gen.Float64()) * 60 {
		if fraction(at/day) > 0.25 || gen.Below(20) == 0 {
			log.Append(event.Event{Src: event.Node(1 + gen.Below(10)), Dst: 50, Time: at})
		}
	}
	all := log.All()
	a := NewAsker(constant(Clock{Span: 8 * day, Day: day}, 0))
	p := Period{Events: all, Hi: all.Len(), Points: 1500}
	p.Lo = slices.IndexFunc(all.Time, func(t event.Time) bool { return t > 8*day })
	var points [24]int
	err := a.each(context.Background(), p, NewWalk(all, a.Model),
		func(_ *State, at event.Time, _, _, weight, _ float64) {
			if weight > 0 {
				points[bin(at/day, 24)]++
			}
		})
	if err != nil || points[3] < points[12]/2 || points[3] > 3*points[12] {
		t.Errorf("%d points at three, %d at noon, %v", points[3], points[12], err)
	}
}

// The last hour is compared with what is usual at that time of the day: a quiet night is nothing special.
func TestBusy(t *testing.T) {
	log := event.NewLog(0)
	for d := range 60 {
		for k := range 96 {
			log.Append(event.Event{Src: 1, Dst: 2, Time: (float64(d) + (10+float64(k)/12)/24) * day})
		}
	}
	last := func(x []float32) []float32 { return x[len(x)-2:] }
	s := NewWalk(log.All(), Plain(Clock{Span: 40 * day, Day: day})).Before(60 * day)
	length := parts[s.hourScale()] * s.clock.Span
	if length < day/48 || length > day/12 {
		t.Fatalf("about an hour takes %v days", length/day)
	}
	quiet := last(s.Features(nil, 1, 60*day, 0))
	for k := range 30 {
		log.Append(event.Event{Src: 1, Dst: 2, Time: (60 + float64(k)/1000) * day})
	}
	s = NewWalk(log.All(), Plain(s.clock)).Before(60.03 * day)
	busy := last(s.Features(nil, 1, 60.03*day, 0))
	for k := range quiet {
		if math.Abs(float64(quiet[k])) > 0.2 || busy[k] < 0.5 {
			t.Errorf("place %d: %v in a quiet night, %v in a busy one", k, quiet[k], busy[k])
		}
	}
}
