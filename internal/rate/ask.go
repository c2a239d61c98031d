package rate

import (
	"fmt"
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Net is a trained pair of networks: one for the rate at a time, one for the rate some time ahead.
type Net interface {
	// Outputs writes a number for each row of features.
	Outputs(ahead bool, x, out []float32) error
}

// Calibration corrects networks that have seen other times than those they are asked about. It is fitted to validation
// data.
type Calibration struct {
	Now, Ahead   float32 // added to the logarithms of rates
	Shift, Slope float32 // of ln(−ln(1 − p)), for the probability p of an event of a pair in a window
	// Hours are added to Now and Ahead by the hour of the day, where days are known.
	Hours [24]float32
}

// Plain changes nothing.
var Plain = Calibration{Slope: 1}

// Asker asks a net. One goroutine at a time may use it.
type Asker struct {
	Calibration
	net    Net
	x, out []float32
	terms  [][2]float64 // offset, with what the calibration adds, and bound of each row
	ahead  bool
}

// NewAsker makes an asker.
func NewAsker(net Net, c Calibration) *Asker { return &Asker{Calibration: c, net: net} }

// begin starts a list of questions of one kind.
func (a *Asker) begin(ahead bool) { a.x, a.terms, a.ahead = a.x[:0], a.terms[:0], ahead }

// add asks about a source some time ahead.
func (a *Asker) add(s *State, u event.Node, at, ahead event.Time) {
	a.x = s.Features(a.x, u, at, ahead)
	offset, bound := s.Offset(u, at)
	if a.ahead {
		bound = offset + aheadBound
	}
	shift := a.Now
	if a.ahead {
		shift = a.Ahead
	}
	if s.clock.Day > 0 {
		shift += a.Hours[bin((at+ahead)/s.clock.Day, 24)]
	}
	a.terms = append(a.terms, [2]float64{offset + float64(shift), bound})
}

// logs are the logarithms of the rates that were asked about, per training period. Valid until the next call.
func (a *Asker) logs() ([]float32, error) {
	a.out = append(a.out[:0], make([]float32, len(a.terms))...)
	if len(a.out) == 0 {
		return a.out, nil
	}
	if err := a.net.Outputs(a.ahead, a.x, a.out); err != nil {
		return nil, err
	}
	for i, t := range a.terms {
		a.out[i] = float32(Log(float64(a.out[i])+t[0], t[1]))
	}
	return a.out, nil
}

// Forecast is what is expected of a source from a time on. Cell i lasts from Edge[i] to Edge[i+1] after that time.
type Forecast struct {
	Edge     []event.Time
	Rate     []float64 // expected events per unit of time in each cell, with those that others lead to
	Silent   []float64 // the rate in each cell as long as the source does not act before
	Beyond   event.Time
	Now      float64 // the rate at the time itself
	Unknown  bool    // the source has never acted: nothing is known of it
	calendar Clock
}

// Forecast asks about a source from a time on, until some time later. The state must be that before the time.
func (a *Asker) Forecast(s *State, u event.Node, at, until event.Time) (Forecast, error) {
	f := Forecast{Edge: s.edges(until), calendar: s.clock, Unknown: s.Count(u) == 0}
	known := s.asOf(at)
	f.Beyond = at - known
	cells := len(f.Edge) - 1
	f.Rate, f.Silent = make([]float64, cells), make([]float64, cells)
	if f.Unknown {
		offset, _ := s.Offset(u, known)
		f.Now = math.Exp(offset) / s.clock.Span * s.fading(f.Beyond)
		for i := range cells {
			f.Rate[i] = math.Exp(offset) / s.clock.Span * s.fading(f.Beyond+f.middle(i))
			f.Silent[i] = f.Rate[i]
		}
		return f, nil
	}
	a.begin(true)
	for i := range cells {
		a.add(s, u, known, f.Beyond+f.middle(i))
	}
	logs, err := a.logs()
	if err != nil {
		return f, err
	}
	for i, x := range logs {
		f.Rate[i] = math.Exp(float64(x)) / s.clock.Span * s.fading(f.Beyond+f.middle(i))
	}
	if f.Beyond > 0 { // nothing is known of the time since
		copy(f.Silent, f.Rate)
		f.Now = f.Rate[0]
		return f, nil
	}
	a.begin(false)
	a.add(s, u, at, 0)
	for i := range cells {
		a.add(s, u, at+f.middle(i), 0)
	}
	if logs, err = a.logs(); err != nil {
		return f, err
	}
	f.Now = math.Exp(float64(logs[0])) / s.clock.Span
	for i, x := range logs[1:] {
		f.Silent[i] = math.Exp(float64(x)) / s.clock.Span
	}
	return f, nil
}

// middle is a moment of a cell. In long cells it moves from cell to cell, so that all hours of the day come in turn.
func (f *Forecast) middle(i int) event.Time {
	lo, hi := f.Edge[i], f.Edge[i+1]
	if day := f.calendar.Day; day > 0 && hi-lo > day/2 {
		_, part := math.Modf(float64(i+1) * 0.6180339887498949)
		return lo + (hi-lo)*part
	}
	return (lo + hi) / 2
}

// edges cut the time ahead into cells: short ones first, of an hour or less up to two weeks where days are known.
func (s *State) edges(until event.Time) []event.Time {
	const growing = 1.6
	list := []event.Time{0}
	step, hour, fine := s.clock.Span*shortest, s.clock.Day/24, 14*s.clock.Day
	for at := step; at < until*(1-1e-9); {
		list = append(list, at)
		next := at * growing
		switch {
		case hour == 0 && at > 0.01*s.clock.Span:
			next = at * 1.1
		case hour > 0 && at < fine:
			next = min(next, at+hour)
		case hour > 0:
			next = min(next, at*1.05)
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

// fading is what is left of a rate some time after the data have ended.
func (s *State) fading(beyond event.Time) float64 {
	half := s.clock.Span / 4
	if s.clock.Day > 0 {
		half = min(half, 60*s.clock.Day)
	}
	x := beyond / half
	return 1 / (1 + x*x*x)
}

// Window is what is expected of a source, or of a pair, within some time.
type Window struct {
	Expected    float64 // number of events
	Probability float64 // of at least one
}

// Within sums up a forecast up to some time after it begins, for one destination: share is how likely the source's next
// event is with it, later how likely the ones after that are. Both are 1 for all events of the source.
func (f *Forecast) Within(until event.Time, share, later float64) Window {
	expected, silent := 0.0, 0.0
	for i := range f.Rate {
		length := min(f.Edge[i+1], until) - f.Edge[i]
		if length <= 0 {
			break
		}
		expected += f.Rate[i] * length
		silent += f.Silent[i] * length
	}
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

// Pair corrects the answer about a pair.
func (c Calibration) Pair(w Window) Window {
	p := min(w.Probability, 1-1e-12)
	if p <= 0 {
		return w
	}
	x := float64(c.Shift) + float64(c.Slope)*math.Log(-math.Log1p(-p))
	w.Probability = -math.Expm1(-math.Exp(min(x, 5)))
	w.Expected = max(w.Expected, w.Probability)
	return w
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
