// Package rate answers: how often does a source act, and when next? It keeps, of every source, when and how often it
// acted, and turns this into numbers from which regression trees learn the logarithm of the rate.
//
// All that is known of a question at time t follows from the events strictly before t.
package rate

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

const (
	scales   = 8 // time scales of decayed counts
	received = 5 // of them, that events as a destination are counted on
	gaps     = 3 // latest times between actions that are kept
	hours    = 24
	quarters = 96  // of an hour in a day
	weekly   = 168 // hours of a week
	latest   = 48  // latest actions of a source
)

// parts of the training period that are the time scales of decay.
var parts = [scales]float64{1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 0.1, 0.5}

const (
	ownMemory    = 0.3 // of the training period: how long a source's habits count,
	commonMemory = 0.1 // and those of all;
	leastMemory  = 14  // days, at least: in a shorter memory the hours that have just passed count most
)

// Clock says how long things last on a data set.
type Clock struct {
	Span event.Time // length of the training period, positive
	Day  event.Time // length of a day; 0 where nobody knows the unit of times
}

// source is what is known of a node that acts.
type source struct {
	count   int32 // events
	actions int32 // distinct times of them
	latest  int32 // events at the last of these times
	first   event.Time
	last    event.Time
	gap     [gaps]float32 // latest times between actions, newest first
	meanLog float32       // running mean of the logarithm of these times
	longest event.Time    // of them
	size    float32       // running mean of events per action
	fade    [scales]float32
	habit   *habits // nil where days are not known

	got     [received]float32 // events as a destination
	gotLast event.Time
}

// habits are decayed counts by time of the day and of the week, and when in the week the latest actions were.
type habits struct {
	latest  [latest]float32 // as parts of a week, the oldest is replaced first
	actions int32
	hour    [hours]float32
	quarter [quarters]float32
	week    [weekly]float32
	sum     float32 // of each of the three
}

func (h *habits) decay(keep float32) {
	for _, list := range [][]float32{h.hour[:], h.quarter[:], h.week[:]} {
		for i := range list {
			list[i] *= keep
		}
	}
	h.sum *= keep
}

func (h *habits) add(days float64) {
	h.hour[bin(days, hours)]++
	h.quarter[bin(days, quarters)]++
	h.week[bin(days/7, weekly)]++
	h.sum++
}

var stranger = source{first: math.Inf(1), last: math.Inf(-1), gotLast: math.Inf(-1)}

// State is what is known after some events.
type State struct {
	clock   Clock
	sources []source
	known   int // sources that have acted
	events  int
	total   [scales]float32 // decayed counts of all events
	fresh   [scales]float32 // and of sources' first ones
	last    event.Time      // of all events
	longest event.Time      // longest time without any event
	all     habits          // of all sources,
	hourAt  float64         // as of which hour since time 0
	drift   drift
	lattice lattice
}

// NewState begins with nothing.
func NewState(c Clock) *State {
	if !(c.Span > 0) {
		c.Span = 1
	}
	return &State{clock: c, last: math.Inf(-1), hourAt: math.Inf(-1)}
}

// Clock is that of the data.
func (s *State) Clock() Clock { return s.clock }

// Len is the number of events.
func (s *State) Len() int { return s.events }

// Last is the time of the last event, −Inf where there is none.
func (s *State) Last() event.Time { return s.last }

// Sources is the number of nodes that have acted.
func (s *State) Sources() int { return s.known }

// Count is the number of events of a source.
func (s *State) Count(u event.Node) int { return int(s.source(u).count) }

func (s *State) source(u event.Node) *source {
	if u >= 0 && int(u) < len(s.sources) {
		return &s.sources[u]
	}
	return &stranger
}

// Add learns of an event. Events come in the order of time.
func (s *State) Add(u, v event.Node, t event.Time) {
	for int(max(u, v)) >= len(s.sources) {
		s.sources = append(s.sources, stranger)
	}
	s.lattice.note(t)
	a, b := &s.sources[u], &s.sources[v]
	first := float32(0)
	if a.count == 0 {
		first = 1
		s.known++
	}
	if s.events > 0 {
		s.longest = max(s.longest, t-s.last)
		s.decay(s.total[:], t-s.last)
		s.decay(s.fresh[:], t-s.last)
	}
	for k := range s.total {
		s.total[k]++
		s.fresh[k] += first
	}
	s.act(a, t)
	s.decay(b.got[:], t-b.gotLast)
	for k := range b.got {
		b.got[k]++
	}
	b.gotLast = t
	s.last = t
	s.events++
}

// decay lets counts on the first time scales fade.
func (s *State) decay(counts []float32, by event.Time) {
	for k := range counts {
		if counts[k] != 0 {
			counts[k] *= float32(math.Exp(-by / (parts[k] * s.clock.Span)))
		}
	}
}

// act counts an event of a source.
func (s *State) act(a *source, t event.Time) {
	if a.count == 0 {
		a.first, a.size = t, 1
	} else if t > a.last {
		s.closeAction(a, t-a.last)
	}
	if t > a.last {
		a.actions++
		a.latest = 0
	}
	for k := range a.fade {
		a.fade[k]++
	}
	a.count++
	a.latest++
	a.last = t
	s.habits(a, t)
}

// closeAction learns of the time between two actions.
func (s *State) closeAction(a *source, gap event.Time) {
	copy(a.gap[1:], a.gap[:gaps-1])
	a.gap[0] = float32(gap)
	n := float32(min(a.actions, 16))
	a.meanLog += (float32(math.Log(gap)) - a.meanLog) / n
	a.size += (float32(a.latest) - a.size) / n
	a.longest = max(a.longest, gap)
	s.decay(a.fade[:], gap)
	if s.clock.Day > 0 {
		a.habit.decay(float32(math.Exp(-gap / max(ownMemory*s.clock.Span, leastMemory*s.clock.Day))))
	}
}

// habits counts an event by time of the day and of the week, of the source and of all.
func (s *State) habits(a *source, t event.Time) {
	day := s.clock.Day
	if day == 0 {
		return
	}
	if a.habit == nil {
		a.habit = new(habits)
	}
	if hour := math.Floor(t / day * 24); hour != s.hourAt {
		s.all.decay(float32(math.Exp(-(hour - s.hourAt) / 24 * day / max(commonMemory*s.clock.Span, leastMemory*day))))
		s.hourAt = hour
	}
	if a.latest == 1 {
		part := t/(7*day) - math.Floor(t/(7*day))
		a.habit.latest[a.habit.actions%latest] = float32(part)
		a.habit.actions++
	}
	a.habit.add(t / day)
	s.all.add(t / day)
}

// bin is the part of a period that a number of periods ends in.
func bin(periods float64, n int) int {
	part := periods - math.Floor(periods)
	return min(int(part*float64(n)+rounding), n-1)
}

// rounding lets times at the very beginning of an hour belong to it, though quotients are not exact.
const rounding = 1e-9
