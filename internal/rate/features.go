package rate

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Width is the number of features of a source at a time.
var Width = len(NewState(Clock{}).Features(nil, 0, 0, 0))

const few = 30 // events after which a source is no newcomer

// never stands for the time since an event that has not happened.
const never = 1.5

// age is a duration on a logarithmic scale; 1 is about the training period.
func (s *State) age(d event.Time) float32 {
	if math.IsInf(d, 0) {
		return never
	}
	return float32(math.Log1p(max(0, d)*1e6/s.clock.Span)) / 14
}

// quotient is one duration by another on a logarithmic scale, held between −1 and 1.
func quotient(part, whole float64) float32 {
	if !(whole > 0) {
		return 0
	}
	return float32(max(-6, min(6, math.Log(part/whole+1e-6)))) / 6
}

func flag(x bool) float32 {
	if x {
		return 1
	}
	return 0
}

func often(n int) float32 { return float32(math.Log1p(float64(n))) / 6 }

// Features appends what is known of a source as of a time that no event has reached, for the rate at which it acts
// some time ahead of that: 0 for the rate at that very time.
func (s *State) Features(x []float32, u event.Node, at, ahead event.Time) []float32 {
	return s.features(x, u, at, ahead, at)
}

// features are those where all events are known up to some time, and the source is known not to act after it.
func (s *State) features(x []float32, u event.Node, at, ahead, all event.Time) []float32 {
	a := s.source(u)
	since := at - a.last
	// counts and ages are cut: large ones only tell how late in the data it is
	x = append(x, s.age(since), s.age(at-a.gotLast), s.age(min(at-a.first, s.clock.Span/10)),
		often(min(int(a.count), few)), often(min(int(a.actions), few)), flag(a.gotLast > a.last),
		float32(math.Log(max(1, float64(a.size)))))
	x = s.rhythm(x, a, since)
	x = s.activity(x, a, at, all)
	x = s.calendar(x, a, at+ahead)
	if ahead == 0 {
		x = append(x, 0, 0, 0, 0)
	} else {
		x = append(x, s.age(ahead), quotient(ahead, math.Exp(float64(a.meanLog))), quotient(ahead, since),
			quotient(ahead, at-a.first))
	}
	return s.busy(x, a, at, all)
}

// busy appends how active all and the source were in about the last hour, compared with what is usual at that time of
// the day. Where departures after midnight are late ones, for example, a busy evening leads to more of them.
func (s *State) busy(x []float32, a *source, at, all event.Time) []float32 {
	if s.clock.Day == 0 {
		return append(x, 0, 0)
	}
	k := s.hourScale()
	length := parts[k] * s.clock.Span
	compare := func(count float32, since event.Time, usual, prior float64) float32 {
		now := float64(count) * math.Exp(-since/length)
		return float32(math.Log((now+prior)/(usual*parts[k]+prior))) / 2
	}
	long := float64(s.total[scales-1]) * math.Exp(-(all-s.last)/(parts[scales-1]*s.clock.Span)) / parts[scales-1]
	return append(x, compare(s.total[k], all-s.last, long*s.commonly(all-length), 2),
		compare(a.fade[k], at-a.last, math.Exp(s.mean(a, at)+s.hourly(a, at-length)), 1))
}

// hourScale is the time scale that is nearest to an hour.
func (s *State) hourScale() (best int) {
	off := math.Inf(1)
	for k, part := range parts {
		if d := math.Abs(math.Log(part * s.clock.Span * 24 / s.clock.Day)); d < off {
			best, off = k, d
		}
	}
	return best
}

// rhythm appends how the time since the source's last action compares with earlier ones.
func (s *State) rhythm(x []float32, a *source, since event.Time) []float32 {
	for k := range a.gap {
		if int(a.actions) > k+1 {
			x = append(x, s.age(float64(a.gap[k])))
		} else {
			x = append(x, never)
		}
	}
	if a.actions < 2 {
		return append(x, never, 0, 0, 0)
	}
	mean := math.Exp(float64(a.meanLog))
	return append(x, s.age(mean), quotient(since, mean), quotient(since, float64(a.gap[0])),
		quotient(since, a.longest))
}

// activity appends how often the source acted lately, on every time scale, compared with its mean; how often it was
// a destination; and how the activity of all compares with that over a long time.
func (s *State) activity(x []float32, a *source, at, all event.Time) []float32 {
	per := func(n float32, since event.Time, k int) float64 {
		return math.Log((float64(n)*math.Exp(-since/(parts[k]*s.clock.Span)) + 0.01) / parts[k])
	}
	mean := s.mean(a, at)
	for k := range a.fade {
		x = append(x, float32(per(a.fade[k], at-a.last, k)-mean)/10)
	}
	for k := range a.got {
		x = append(x, float32(per(a.got[k], at-a.gotLast, k)-mean)/10)
	}
	x = append(x, float32(mean)/10)
	long := per(s.total[scales-1], all-s.last, scales-1)
	for k := range scales - 1 {
		x = append(x, float32(per(s.total[k], all-s.last, k)-long)/5)
	}
	return append(x, float32(long-math.Log(float64(s.known+1)))/5)
}

// mean is the logarithm of the rate per training period that a source had so far.
func (s *State) mean(a *source, at event.Time) float64 {
	if a.count == 0 {
		return s.unknown(at)
	}
	return math.Log(float64(a.count)) - math.Log((at-a.first)/s.clock.Span+0.02)
}

// calendar appends the parts of the day and of the week, how many of them have passed since the last action, and what
// the source and all usually do then.
func (s *State) calendar(x []float32, a *source, at event.Time) []float32 {
	day := s.clock.Day
	if day == 0 {
		return append(x, make([]float32, calendarWidth)...)
	}
	days, weeks := fraction(at/day), fraction(at/(7*day))
	x = append(x, float32(days), float32(weeks))
	if math.IsInf(a.last, 0) {
		x = append(x, -1, -1)
	} else {
		x = append(x, float32(fraction((at-a.last)/day)), float32(fraction((at-a.last)/(7*day))))
	}
	x = append(x, s.all.profile(s.all.quarter[:], days, 10), s.all.profile(s.all.week[:], weeks, 50))
	if a.habit == nil {
		return append(x, make([]float32, ownWidth)...)
	}
	x = append(x, a.habit.profile(a.habit.hour[:], days, 2), a.habit.profile(a.habit.quarter[:], days, 2),
		a.habit.profile(a.habit.week[:], weeks, 2))
	return a.habit.nearby(x, weeks)
}

const (
	calendarWidth = 4 + 2 + ownWidth   // features of the calendar
	ownWidth      = 3 + 2*len(minutes) // of them, that the source's own habits give
)

func fraction(x float64) float64 { return x - math.Floor(x) }

// minutes are how near to a time of the day, or of the week, an action must have been to tell something about it.
var minutes = [2]float64{8, 30}

// nearby appends how many of the latest actions were near this time of the day, and of the week, compared with actions
// at any time.
func (h *habits) nearby(x []float32, weeks float64) []float32 {
	var sum [2 * len(minutes)]float64
	n := min(int(h.actions), latest)
	for _, then := range h.latest[:n] {
		off := math.Abs(weeks - float64(then))
		off = min(off, 1-off) * 7 // days
		near := math.Abs(off - math.Round(off))
		for k, m := range minutes {
			if d := near * 1440 / m; d < 1 {
				sum[k] += (1 - d*d) * 0.75 * 720 / m
			}
			if d := off * 1440 / m; d < 1 {
				sum[len(minutes)+k] += (1 - d*d) * 0.75 * 720 / m * 7
			}
		}
	}
	const prior = 0.3
	for _, s := range sum {
		x = append(x, float32(math.Log((s+prior)/(float64(n)+prior)))/2)
	}
	return x
}

// between is the mean of the two bins whose middles are nearest to a part of a period, the nearer one counting more.
func between(bins []float32, part float64) float64 {
	n := len(bins)
	at := part*float64(n) - 0.5
	lo := math.Floor(at)
	right := at - lo
	i := (int(lo) + n) % n
	return (1-right)*float64(bins[i]) + right*float64(bins[(i+1)%n])
}

// profile is how much more often than on average something happens in a part of a period, on a logarithmic scale. A
// prior of some events stands for all parts alike.
func (h *habits) profile(bins []float32, part, prior float64) float32 {
	n := float64(len(bins))
	x := (between(bins, part) + prior/n) * n / (float64(h.sum) + prior)
	return float32(max(-4, min(4, math.Log(x))))
}

// hourly is how much more often than on average the source acts at an hour, on a logarithmic scale. Where it has few
// events, it acts like all.
func (s *State) hourly(a *source, at event.Time) float64 {
	if s.clock.Day == 0 {
		return 0
	}
	const own = 10
	x := s.commonly(at)
	if h := a.habit; h != nil {
		x = (between(h.hour[:], fraction(at/s.clock.Day))*hours + own*x) / (float64(h.sum) + own)
	}
	return max(-5, math.Log(x))
}

// commonly is how many times as many events all sources have at an hour as at a mean one.
func (s *State) commonly(at event.Time) float64 {
	const few = 50
	return (between(s.all.hour[:], fraction(at/s.clock.Day))*hours + few) / (float64(s.all.sum) + few)
}

// Offset is the logarithm of the rate, per training period, that a forest's answer is added to: the source's mean so
// far, at that hour of the day.
func (s *State) Offset(u event.Node, at, ahead event.Time) float64 {
	a := s.source(u)
	return s.mean(a, at) + s.hourly(a, at+ahead)
}

// lately is about the highest rate, per training period, that the source had on any time scale.
func (s *State) lately(u event.Node, at event.Time) float64 {
	a := s.source(u)
	most := math.Exp(s.mean(a, at))
	for k := range a.fade {
		most = max(most, float64(a.fade[k])*math.Exp(-(at-a.last)/(parts[k]*s.clock.Span))/parts[k])
	}
	return most
}

// likely is about the highest rate, per training period, that the source may have at a time.
func (s *State) likely(u event.Node, at event.Time) float64 {
	return max(s.lately(u, at), math.Exp(s.Offset(u, at, 0)))
}

// unknown is the logarithm of the rate of one node that has never acted: first actions of all, shared by as many as
// are known.
func (s *State) unknown(at event.Time) float64 {
	k := scales - 2
	n := float64(s.fresh[k]) * math.Exp(-(at-s.last)/(parts[k]*s.clock.Span)) / parts[k]
	if s.events == 0 {
		n = 0
	}
	return math.Log(n/float64(s.known+1) + 1e-6)
}
