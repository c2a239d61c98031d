package rate

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// Forests learn that sources act by day, the same to the byte on any number of threads. They say nothing else because
// of what comes after the events that they learn and choose from.
func TestFit(t *testing.T) {
	log := stream(t, 10, 7)
	all, c := log.All(), Clock{Span: 7 * day, Day: day}
	train, val := all.Len()*7/10, all.Len()*85/100
	fit := func(events event.Span, threads int) *Model {
		m, err := Fit(context.Background(), events, train, val, c, FitOptions{Trees: 20, Rows: 1000, Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := fit(all, 1)
	for _, other := range []*Model{fit(all, 3), fit(log.Span(0, val), 2)} {
		if !slices.Equal(m.Now, other.Now) || !slices.Equal(m.Ahead, other.Ahead) {
			t.Fatal("other threads, or events that are not to be seen, make another forest")
		}
	}
	p := Period{Events: all, Lo: val, Hi: all.Len(), Points: 20_000, Key: 1}
	plain, err := NewAsker(Plain(c)).Measure(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := NewAsker(m).Measure(context.Background(), p)
	if err != nil || !(got.Nats(c, day) < plain.Nats(c, day)) {
		t.Errorf("%v nats, without learning %v; %v", got.Nats(c, day), plain.Nats(c, day), err)
	}
	walk, ask := NewWalk(all, m), NewAsker(m)
	night := ask.Forecast(walk.Before(8.2*day), 3, 8.2*day, day)
	noon := ask.Forecast(walk.Before(8.7*day), 3, 8.7*day, day)
	if !(noon.Now > 1.5*night.Now) {
		t.Errorf("the rate is %v by day, %v by night", noon.Now, night.Now)
	}
	cell := func(f *Forecast, ahead event.Time) float64 {
		return f.Rate[slices.IndexFunc(f.Edge, func(x event.Time) bool { return x > ahead })-1]
	}
	if day, dark := cell(&night, 0.5*day), cell(&noon, 0.5*day); !(day > 1.5*dark) {
		t.Errorf("half a day ahead the rate is %v by day, %v by night", day, dark)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fit(stopped, all, train, val, c, FitOptions{Trees: 3}); err == nil {
		t.Error("a fit that was stopped went on")
	}
	if none, err := Fit(context.Background(), event.Span{}, 0, 0, c, FitOptions{Trees: 3}); err != nil ||
		len(none.Now) > 0 {
		t.Errorf("no events: %v, %v", none, err)
	}
}

// A leaf's correction is where the loss of its rows, in float64, has no slope; with a prior that is weak for many rows.
// The gain is how much the loss falls.
func TestLeafIsBest(t *testing.T) {
	s := sums{count: 5e6, expected: 2e6}
	loss := func(v float64) float64 { return s.expected*math.Exp(v) - s.count*v }
	v := s.correction()
	const h = 1e-4
	if slope := (loss(v+h) - loss(v-h)) / (2 * h); math.Abs(slope) > 1e-4*s.count {
		t.Errorf("the loss has a slope of %v at the leaf", slope)
	}
	if gain := loss(0) - loss(v); math.Abs(gain-s.gain()) > 1e-6*gain {
		t.Errorf("the gain is %v, want %v", s.gain(), gain)
	}
	if few := (sums{count: 1}).correction(); few > 0.1 {
		t.Errorf("one event in a leaf corrects by %v", few)
	}
}

// The loss of rows is that of their likelihood with the best level: no other level has a lower one.
func TestRowsLoss(t *testing.T) {
	gen, r := rng.New(1, "rows"), Rows{}
	for i := range 50 {
		r.Offset = append(r.Offset, float32(gen.Float64()*4-2))
		r.Weight = append(r.Weight, float32(i%2)*float32(gen.Float64()))
		r.Count = append(r.Count, float32(1-i%2))
	}
	at := func(level float64) (sum float64) {
		for i, o := range r.Offset {
			log := float64(o) + level
			sum += float64(r.Weight[i])*math.Exp(log) - float64(r.Count[i])*log
		}
		return sum
	}
	best := math.Inf(1)
	for level := -6.0; level < 6; level += 1e-3 {
		best = min(best, at(level))
	}
	const events = 25
	if got := r.loss(r.expected()) + events - events*math.Log(events); math.Abs(got-best) > 1e-3 {
		t.Errorf("the loss is %v, want %v", got, best)
	}
}

// Rates that are half as high after the training period are corrected soon, at every hour; nothing of the future says
// so.
func TestDrift(t *testing.T) {
	learnsLong(t)
	gen, log := rng.New(2, "drift"), event.NewLog(0)
	for at := 0.0; at < 20*day; at -= math.Log(1-gen.Float64()) * 200 {
		if at < 10*day || gen.Below(2) == 0 {
			log.Append(event.Event{Src: event.Node(1 + gen.Below(8)), Dst: 20, Time: at})
		}
	}
	c, all := Clock{Span: 10 * day, Day: day}, log.All()
	m := constant(c, 0.2)
	ratio := func(d Drift) float64 {
		m.Drift = d
		lo := slices.IndexFunc(all.Time, func(t event.Time) bool { return t > 15*day })
		p := Period{Events: all, Lo: lo, Hi: all.Len(), Points: 20_000}
		got, err := NewAsker(m).Measure(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		return got.Expected / got.Observed
	}
	if plain, level := ratio(Drift{-1, -1}), ratio(Drift{1, -1}); plain < 1.3 || math.Abs(level-1) > 0.1 {
		t.Errorf("%v times as many events are expected as happen, %v with a correction", plain, level)
	}
	if both := ratio(Drift{1, 1}); math.Abs(both-1) > 0.1 {
		t.Errorf("with hours, %v times as many events are expected as happen", both)
	}
	a, b := NewWalk(all, m), NewWalk(log.Span(0, all.Len()-1), m)
	at := all.Time[all.Len()-1]
	if x, y := a.Before(at).drift, b.Before(at).drift; !reflect.DeepEqual(x, y) {
		t.Error("the event of the instant itself changes the correction")
	}
	// both start over
	if x, y := a.Before(12*day).drift, b.Before(12*day).drift; !reflect.DeepEqual(x, y) {
		t.Error("going back gives another correction")
	}
}

// Sources that have left before the end of training are expected to act too: the correction counts their silence.
func TestDriftCountsSilence(t *testing.T) {
	gen, log := rng.New(5, "silent"), event.NewLog(0)
	for at := 0.0; at < 20*day; at -= math.Log(1-gen.Float64()) * 200 {
		if u := 1 + gen.Below(16); u <= 4 || at < 9*day {
			log.Append(event.Event{Src: event.Node(u), Dst: 20, Time: at})
		}
	}
	all := log.All()
	m := constant(Clock{Span: 10 * day, Day: day}, 0)
	m.Drift = Drift{0, -1}
	lo := slices.IndexFunc(all.Time, func(t event.Time) bool { return t > 13*day })
	got, err := NewAsker(m).Measure(context.Background(), Period{Events: all, Lo: lo, Hi: all.Len(), Points: 20_000})
	if err != nil || math.Abs(got.Expected/got.Observed-1) > 0.1 {
		t.Errorf("%+v, %v: want as many events expected as happen", got.Counts, err)
	}
}

// Where a forest expects too much at some hours and too little at others, as many events as happen are soon expected at
// each hour, also where all rates are corrected by the latest events, which are those of a few hours.
func TestDriftOfHours(t *testing.T) {
	learnsLong(t)
	gen, log := rng.New(6, "hours"), event.NewLog(0)
	for at := 0.0; at < 30*day; at -= math.Log(1-gen.Float64()) * 200 {
		log.Append(event.Event{Src: event.Node(1 + gen.Below(3)), Dst: 20, Time: at})
	}
	c, all := Clock{Span: 10 * day, Day: day}, log.All()
	m, s := constant(c, -0.7), NewState(c)
	morning, evening := s.Features(nil, 1, 0.25*day, 0), s.Features(nil, 1, 0.75*day, 0)
	f := slices.IndexFunc(morning, func(x float32) bool { return x == 0.25 })
	if f < 0 || evening[f] != 0.75 {
		t.Fatalf("the part of the day is no feature: %v, %v", morning, evening)
	}
	m.Now[0], m.Now[1] = float32(f), 0.5
	for i := range 1 << (depth - 1) {
		m.Now[2*inner+1<<(depth-1)+i] = 0.7
	}
	p := Period{Events: all, Hi: all.Len(), Points: 60_000}
	p.Lo = slices.IndexFunc(all.Time, func(t event.Time) bool { return t > 15*day })
	for _, level := range []int{0, 2} {
		m.Drift = Drift{level, 0}
		got, err := NewAsker(m).Measure(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		for h := range 24 / 4 { // four hours together have less noise
			var x Counts
			for _, y := range got.Hours[4*h : 4*h+4] {
				x.count(y.Expected, y.Observed)
			}
			if math.Abs(x.Expected/x.Observed-1) > 0.1 {
				t.Errorf("hours from %d on, the latest %v events: %+v", 4*h, levelMemory[level], x)
			}
		}
	}
}

// Corrections of windows make as many events expected as happen, and probabilities right on average.
func TestFitCorrection(t *testing.T) {
	gen, list := rng.New(3, "windows"), []Asked{}
	for range 4000 {
		p := math.Exp(-1 - 4*gen.Float64())
		a := Asked{Pair: Window{Expected: 4 * p, Probability: p}, Share: 0.2, Later: 0.1, Weight: 1}
		a.Source = Counts{Expected: 2, Observed: 1}
		if gen.Float64() < p/2 { // half as often as it says, twice each
			a.Events = 2
		}
		list = append(list, a)
	}
	c := FitCorrection(list)
	var expected, happened, events, probability float64
	for _, a := range list {
		w := c.Pair(a.Pair, a.Share, a.Later)
		expected += w.Expected
		probability += w.Probability
		events += a.Events
		happened += min(1, a.Events)
	}
	if math.Abs(expected/events-1) > 0.1 || math.Abs(probability/happened-1) > 0.05 ||
		math.Abs(float64(c.Source)+math.Ln2) > 0.01 {
		t.Errorf("%v events expected, %v happened; probability %v, %v; source %v", expected, events, probability,
			happened, c.Source)
	}
	// what is right for pairs that often meet makes others not as likely as them
	for i := range list {
		list[i].Events = float64(i % 2)
	}
	c = FitCorrection(list)
	often, rarely := c.Pair(Window{0.02, 0.02}, 0.2, 0.1), c.Pair(Window{2e-5, 2e-5}, 1e-4, 1e-3)
	if often.Probability < 0.3 || rarely.Probability > 0.005 || rarely.Expected > 0.005 {
		t.Errorf("%+v of a pair that meets often, %+v of one that does not", often, rarely)
	}
	if none := FitCorrection(nil); none != noCorrection {
		t.Errorf("nothing was asked about: %+v", none)
	}
}

// Where sources act for three days and then leave, the rate of one that has been silent for four days is near zero.
func TestRateFallsForSourcesThatLeft(t *testing.T) {
	gen, log := rng.New(4, "leaving"), event.NewLog(0)
	const lifetime, every = 3 * day, day / 2 // a new source begins every half day
	for at := 0.0; at < 30*day; at -= math.Log(1-gen.Float64()) * 300 {
		newest := int(at / every)
		u := newest - gen.Below(int(lifetime/every))
		if u >= 0 {
			log.Append(event.Event{Src: event.Node(1 + u), Dst: 100, Time: at})
		}
	}
	all := log.All()
	m, err := Fit(context.Background(), all, all.Len()*7/10, all.Len()*85/100, Clock{Span: 20 * day, Day: day},
		FitOptions{Trees: 40, Rows: 4000, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	const now = 29 * day
	s, ask := NewWalk(all, m).Before(now), NewAsker(m)
	active, left := event.Node(1+int(now/every)-2), event.Node(1+int(now/every)-14) // begun one and seven days ago
	here, gone := ask.Forecast(s, active, now, day), ask.Forecast(s, left, now, day)
	if !(gone.Now < here.Now/20) || !(gone.Within(day).Probability < 0.5*here.Within(day).Probability) {
		t.Errorf("rates a day: %v of a source that is active, %v of one that left; within a day %v and %v",
			here.Now*day, gone.Now*day, here.Within(day).Probability, gone.Within(day).Probability)
	}
}
