package rate

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Width is the number of features of a source at a time.
var Width = len(NewState(Clock{}).Features(nil, 0, 0, 0))

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
	a := s.source(u)
	since := at - a.last
	x = append(x, s.age(since), s.age(at-a.gotLast), s.age(at-a.first), often(int(a.count)), often(int(a.actions)),
		flag(a.gotLast > a.last), float32(math.Log(max(1, float64(a.size)))))
	x = s.rhythm(x, a, since)
	x = s.activity(x, a, at)
	x = s.calendar(x, a, at+ahead)
	if ahead == 0 {
		return append(x, 0, 0, 0, 0)
	}
	return append(x, s.age(ahead), quotient(ahead, math.Exp(float64(a.meanLog))), quotient(ahead, since),
		quotient(ahead, at-a.first))
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

// activity appends how often the source, those who chose it, and all acted lately, on every time scale.
func (s *State) activity(x []float32, a *source, at event.Time) []float32 {
	per := func(n float32, since event.Time, k int) float64 {
		return math.Log((float64(n)*math.Exp(-since/(parts[k]*s.clock.Span)) + 0.01) / parts[k])
	}
	for k := range a.fade {
		x = append(x, float32(per(a.fade[k], at-a.last, k))/10)
	}
	for k := range a.got {
		x = append(x, float32(per(a.got[k], at-a.gotLast, k))/10)
	}
	lived := math.Log(float64(max(1, a.count))/max(1e-4, min(1e4, (at-a.first)/s.clock.Span))) / 10
	x = append(x, float32(lived), often(s.known)/2)
	long := per(s.total[scales-1], at-s.last, scales-1)
	for k := range scales - 1 {
		x = append(x, float32(per(s.total[k], at-s.last, k)-long)/5)
	}
	return append(x, float32(long-math.Log(float64(s.known+1)))/5)
}

// calendar appends the hour and the weekday, and what the source and all usually do then.
func (s *State) calendar(x []float32, a *source, at event.Time) []float32 {
	day := s.clock.Day
	if day == 0 {
		return append(x, make([]float32, calendarWidth)...)
	}
	waves := func(periods float64, n int) {
		for k := 1; k <= n; k++ {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) * periods)
			x = append(x, float32(sin), float32(cos))
		}
	}
	days := at/day - math.Floor(at/day)
	weeks := at/(7*day) - math.Floor(at/(7*day))
	waves(days, 3)
	waves(weeks, 2)
	if math.IsInf(a.last, 0) {
		x = append(x, 0, 0, 0, 0)
	} else {
		waves(math.Mod((at-a.last)/day, 7), 1)
		waves(math.Mod((at-a.last)/(7*day), 7), 1)
	}
	x = append(x, profile(s.all.quarter[:], days, 10), profile(s.all.week[:], weeks, 50))
	if a.habit == nil {
		return append(x, make([]float32, ownWidth)...)
	}
	x = append(x, profile(a.habit.hour[:], days, 2), profile(a.habit.quarter[:], days, 2),
		profile(a.habit.week[:], weeks, 2))
	return a.habit.nearby(x, weeks)
}

const (
	calendarWidth = 2*(3+2+1+1) + 2 + ownWidth // features of the calendar
	ownWidth      = 3 + 2*len(minutes)         // of them, that the source's own habits give
)

// minutes are how near to a time of the day, or of the week, an action must have been to tell something about it.
var minutes = [2]float64{8, 30}

// nearby appends how many of the latest actions were near this time of the day, and of the week, compared with actions
// at any time.
func (h *habits) nearby(x []float32, weeks float64) []float32 {
	var sum [2 * len(minutes)]float64
	n := min(int(h.actions), lately)
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

// profile is how much more often than on average something happens in a part of a period, on a logarithmic scale:
// between the two bins whose middles are nearest. A prior of some events stands for all parts alike.
func profile(bins []float32, periods float64, prior float64) float32 {
	n := len(bins)
	at := periods*float64(n) - 0.5
	lo := math.Floor(at)
	right := at - lo
	i := (int(lo) + n) % n
	j := (i + 1) % n
	sum := prior
	for _, x := range bins {
		sum += float64(x)
	}
	here := (1-right)*float64(bins[i]) + right*float64(bins[j]) + prior/float64(n)
	return float32(max(-4, min(4, math.Log(here*float64(n)/sum))))
}

// Offset is the logarithm of the rate, per training period, that a network's output is added to: the source's mean so
// far. Bound is the logarithm of what the rate stays below, however the network continues what it has learned: a source
// that has been silent for much longer than ever before acts less and less,
// and nobody acts much more often than lately.
func (s *State) Offset(u event.Node, at event.Time) (offset, bound float64) {
	a := s.source(u)
	if a.count == 0 {
		return s.unknown(at), noBound
	}
	offset = math.Log(float64(a.count)) - math.Log((at-a.first)/s.clock.Span+0.02)
	size := max(1, float64(a.size))
	most := max(math.Exp(offset), size/(1e-7+(at-a.last)/s.clock.Span))
	for k := range a.fade {
		most = max(most, float64(a.fade[k])*math.Exp(-(at-a.last)/(parts[k]*s.clock.Span))/parts[k])
	}
	bound = math.Log(most * excess)
	if silence := (at - a.last - patience*a.longest) / s.clock.Span; silence > 0 {
		bound = min(bound, math.Log(tail*size/silence))
	}
	return offset, min(noBound, bound)
}

const (
	noBound = 30.0
	// aheadBound is how far the logarithm of a rate ahead is above that of the source's mean at most
	aheadBound = 4.0
	patience   = 4.0 // times its longest silence so far
	tail       = 8.0 // actions that are expected at most while the silence becomes e times as long
	excess     = 30  // times the highest rate that the source had lately, on any time scale
)

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

// Log is the logarithm of a rate per training period: z where that is far below the bound, and the bound where z is
// far above.
func Log(z, bound float64) float64 { return z - softplus(z-bound) }

func softplus(x float64) float64 {
	if x > 30 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

func expOf(x float64) float64 { return math.Exp(min(x, noBound)) }
