package rate

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Asker asks a model. One goroutine at a time may use it.
type Asker struct {
	*Model
	x []float32
}

// NewAsker makes an asker.
func NewAsker(m *Model) *Asker { return &Asker{Model: m} }

// log is the logarithm of the rate of a source, per training period, as far as training says, and what its drift adds.
func (a *Asker) log(s *State, u event.Node, at, ahead event.Time) (log, drift float64) {
	return a.silentLog(s, u, at, ahead, at)
}

// silentLog is the same where all events are known up to some time, and the source is known not to act after it.
func (a *Asker) silentLog(s *State, u event.Node, at, ahead, all event.Time) (log, drift float64) {
	f, then := a.Now, s.lattice.up(at+ahead)
	at, all = s.lattice.up(at), s.lattice.up(all)
	if ahead > 0 {
		f, ahead = a.Ahead, max(then-at, min(ahead, s.lattice.step))
	}
	a.x = s.features(a.x[:0], u, at, ahead, all)
	return s.Offset(u, at, ahead) + f.At(a.x), s.drift.shift(a.Clock, at+ahead)
}

// rate is the rate of a source per unit of time.
func (a *Asker) rate(s *State, u event.Node, at, ahead event.Time) float64 {
	log, drift := a.log(s, u, at, ahead)
	return math.Exp(log+drift) / a.Span
}

// Forecast is what is expected of a source from a time on. Cell i lasts from Edge[i] to Edge[i+1] after that time.
type Forecast struct {
	Edge    []event.Time
	Rate    []float64 // expected events per unit of time in each cell, with those that others lead to
	Silent  []float64 // the rate in each cell as long as the source does not act before
	Beyond  event.Time
	Now     float64 // the rate at the time itself
	Unknown bool    // the source has never acted: nothing is known of it

	clock       Clock
	calibration *Calibration
}

// Forecast asks about a source from a time on, until some time later. The state must be that before the time.
func (a *Asker) Forecast(s *State, u event.Node, at, until event.Time) Forecast {
	f := Forecast{Edge: s.edges(until), clock: s.clock, calibration: &a.Calibration, Unknown: s.Count(u) == 0}
	known := s.asOf(at)
	f.Beyond = at - known
	cells := len(f.Edge) - 1
	f.Rate, f.Silent = make([]float64, cells), make([]float64, cells)
	if f.Unknown {
		unknown := math.Exp(s.unknown(known)) / s.clock.Span
		f.Now = unknown * s.fading(f.Beyond)
		for i := range cells {
			f.Rate[i] = unknown * s.fading(f.Beyond+f.middle(i))
		}
		copy(f.Silent, f.Rate)
		return f
	}
	for i := range cells {
		f.Rate[i] = a.rate(s, u, known, f.Beyond+f.middle(i)) * s.fading(f.Beyond+f.middle(i))
	}
	if f.Beyond > 0 { // nothing is known of the time since
		copy(f.Silent, f.Rate)
		f.Now = a.rate(s, u, known, f.Beyond) * s.fading(f.Beyond)
		return f
	}
	f.Now = a.rate(s, u, at, 0)
	for i := range cells {
		log, drift := a.silentLog(s, u, at+f.middle(i), 0, at)
		f.Silent[i] = math.Exp(log+drift) / a.Span
	}
	return f
}

// middle is a moment of a cell. In long cells it moves from cell to cell, so that all hours of the day come in turn.
func (f *Forecast) middle(i int) event.Time {
	lo, hi := f.Edge[i], f.Edge[i+1]
	if day := f.clock.Day; day > 0 && hi-lo > day/2 {
		_, part := math.Modf(float64(i+1) * 0.6180339887498949)
		return lo + (hi-lo)*part
	}
	return (lo + hi) / 2
}

// edges cut the time ahead into cells: short ones first, of an hour or less up to three days where days are known.
func (s *State) edges(until event.Time) []event.Time {
	const growing = 1.6
	list := []event.Time{0}
	step, hour, fine := s.clock.Span*shortest, s.clock.Day/24, 3*s.clock.Day
	for at := step; at < until*(1-1e-9); {
		list = append(list, at)
		next := at * growing
		switch {
		case hour == 0 && at > 0.01*s.clock.Span:
			next = at * 1.1
		case hour > 0 && at < fine:
			next = min(next, at+hour)
		case hour > 0:
			next = min(next, at*1.15)
		}
		at = next
	}
	return append(list, until)
}

// asOf is up to when silence tells something of a source: some time after the last event of all. Later on it only says
// that the data have ended.
func (s *State) asOf(at event.Time) event.Time {
	if s.events == 0 {
		return at
	}
	return min(at, s.last+max(2*s.longest, 1e-6*s.clock.Span))
}

// fading is what is left of a rate some time after the data have ended: half after two months, or after a quarter of
// the training period where that is shorter.
func (s *State) fading(beyond event.Time) float64 {
	half := s.clock.Span / 4
	if s.clock.Day > 0 {
		half = min(half, 60*s.clock.Day)
	}
	return math.Exp2(-beyond / half)
}

// Window is what is expected of a source, or of a pair, within some time.
type Window struct {
	Expected    float64 // number of events
	Probability float64 // of at least one
}

// Within sums up a forecast up to some time after it begins, for all events of the source.
func (f *Forecast) Within(until event.Time) Window {
	return f.within(until, 1, 1, math.Exp(float64(f.calibration.For(f.clock, until).Source)))
}

// Pair is the same for one destination: share is how likely the source's next event is with it, later how likely the
// ones after that are. Within a longer time no less happens than within the lengths that are calibrated.
func (f *Forecast) Pair(until event.Time, share, later float64) Window {
	w := f.pair(until, share, later)
	for _, length := range f.clock.Lengths() {
		if length < until {
			shorter := f.pair(length, share, later)
			w.Probability = max(w.Probability, shorter.Probability)
			w.Expected = max(w.Expected, shorter.Expected)
		}
	}
	return w
}

func (f *Forecast) pair(until event.Time, share, later float64) Window {
	plain := f.within(until, share, later, 1)
	if f.Unknown { // corrections come from sources that have acted
		return plain
	}
	w := f.calibration.For(f.clock, until).Pair(plain, share, later)
	if f.Beyond > 0 { // corrections were made where rates had not fallen, and must not undo that
		const most = 20
		w.Probability = min(w.Probability, most*plain.Probability)
		w.Expected = min(w.Expected, most*plain.Expected)
	}
	return w
}

// Plain is Pair as far as nothing corrects it.
func (f *Forecast) Plain(until event.Time, share, later float64) Window {
	return f.within(until, share, later, 1)
}

// within is a window of which some times as many events are expected as the forest says.
func (f *Forecast) within(until event.Time, share, later, times float64) Window {
	expected, silent := 0.0, 0.0
	for i := range f.Rate {
		length := min(f.Edge[i+1], until) - f.Edge[i]
		if length <= 0 {
			break
		}
		expected += f.Rate[i] * length
		silent += f.Silent[i] * length
	}
	expected *= times
	none := math.Exp(-silent)
	if !(expected > silent*(1+1e-6)) {
		none = math.Exp(-expected)
	}
	w := Window{Expected: max(0, share*(1-none)+later*(expected-(1-none)))}
	// of the events after the first, none is with the destination
	others := 1 - none
	if later < 1 {
		others = max(0, without(expected, silent, later)-none) / (1 - later)
	}
	w.Probability = max(0, min(1, 1-none-(1-share)*min(others, 1-none)))
	w.Expected = max(w.Expected, w.Probability)
	return w
}

// without is the probability that none of a number of events falls to a share of them. The number has a mean and is 0
// with probability e^(−silent): it is taken to have a negative binomial distribution, or a Poisson distribution where
// it does not come in clusters.
func without(mean, silent, share float64) float64 {
	if !(mean > silent*(1+1e-6)) || silent == 0 {
		return math.Exp(-mean * share)
	}
	// k·ln(1 + mean/k) = silent; the left side rises with k from 0 to mean
	lo, hi := -40.0, 40.0
	for range 60 {
		if k := math.Exp((lo + hi) / 2); k*math.Log1p(mean/k) < silent {
			lo = (lo + hi) / 2
		} else {
			hi = (lo + hi) / 2
		}
	}
	k := math.Exp((lo + hi) / 2)
	return math.Exp(-k * math.Log1p(mean*share/k))
}

// Warning says why an answer about a source at a time should be used with care; "" where nothing speaks against it.
func (s *State) Warning(u event.Node, at event.Time) string {
	beyond := at - s.asOf(at)
	switch {
	case s.events == 0:
		return "there are no events before this time"
	case beyond > 0 && at-s.last > 0.02*s.clock.Span:
		return fmt.Sprintf("this time is %s after the last event: nothing is known of the time between, "+
			"and the rate is lowered the more of it there is", s.Duration(at-s.last))
	case s.Count(u) == 0:
		return "the source has never acted before this time: its rate is that of first actions of all sources, " +
			"divided by the number of sources"
	}
	return ""
}

// Duration is a length of time in words.
func (s *State) Duration(d event.Time) string {
	day := s.clock.Day
	if day == 0 {
		return fmt.Sprintf("%.4g", d)
	}
	for _, unit := range []struct {
		name   string
		length float64
	}{{"years", 365.25 * day}, {"days", day}, {"hours", day / 24}, {"minutes", day / 1440}} {
		if d >= 2*unit.length {
			return fmt.Sprintf("%.1f %s", d/unit.length, unit.name)
		}
	}
	return fmt.Sprintf("%.0f seconds", d/day*86400)
}
