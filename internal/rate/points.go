package rate

import (
	"container/heap"

	"github.com/dygmamba/dygmamba/event"
)

// Sweep goes through events in the order of time and visits points between them at which rates are looked at. Summed
// with their weights, what a function of a source and a time is at the points estimates, without bias, its integral
// over the time from each source's first event on: after every action of a source, points are drawn from several
// stretches of time, which become longer and longer, and count if the source has not acted again by then.
type Sweep struct {
	State  *State
	each   int // points from each stretch
	events event.Span
	done   int
	key    uint64
	points pending
}

// NewSweep begins before the first event. Each is how many points are drawn from a stretch of time, the key what they
// are drawn by.
func NewSweep(events event.Span, c Clock, each int, key uint64) *Sweep {
	return &Sweep{State: NewState(c), each: each, events: events, key: key}
}

// Point is a source at a time, and the stretch of time that it stands for, in training periods.
type Point struct {
	Src    event.Node
	At     event.Time
	Weight float64
}

// Before visits the points before a time that were not visited yet, each with what is known strictly before it, and
// learns of the events before the time. Times do not go back. Visit may be nil.
func (s *Sweep) Before(t event.Time, visit func(Point)) {
	for {
		s.addBefore(t)
		if len(s.points) == 0 || s.points[0].at >= t {
			break
		}
		p := heap.Pop(&s.points).(entry)
		if s.State.source(p.src).actions != p.action {
			continue
		}
		if visit != nil {
			visit(Point{p.src, p.at, p.width})
		}
		s.draw(p.src, p.action, p.number+1)
	}
}

// addBefore learns of events up to the next point, or to t.
func (s *Sweep) addBefore(t event.Time) {
	for ; s.done < s.events.Len(); s.done++ {
		at := s.events.Time[s.done]
		if at >= t || len(s.points) > 0 && at >= s.points[0].at {
			return
		}
		u := s.events.Src[s.done]
		before := s.State.source(u).actions
		s.State.Add(u, s.events.Dst[s.done], at)
		if now := s.State.source(u).actions; now != before {
			s.draw(u, now, 0)
		}
	}
}

const (
	shortest  = 1e-6 // of the training period: the first stretch
	growth    = 4    // how much longer a stretch reaches than the one before
	stretches = 13   // the last ends long after the training period
)

// stretch is from when to when the k-th one lasts, in training periods.
func stretch(k int) (lo, hi float64) {
	hi = shortest
	for range k {
		lo, hi = hi, hi*growth
	}
	return lo, hi
}

// draw plans the next point of a source, from one of the equal pieces of a stretch.
func (s *Sweep) draw(u event.Node, action int32, number int) {
	if number >= stretches*s.each {
		return
	}
	lo, hi := stretch(number / s.each)
	width := (hi - lo) / float64(s.each)
	part := float64(number%s.each) + unit(mix(mix(mix(s.key, uint64(u)), uint64(action)), uint64(number)))
	at := s.State.source(u).last + (lo+width*part)*s.State.clock.Span
	heap.Push(&s.points, entry{at, width, u, action, number})
}

// mix is a hash of two numbers.
func mix(a, b uint64) uint64 {
	h := a ^ (b+0x9E3779B97F4A7C15)*0xBF58476D1CE4E5B9
	h = (h ^ h>>30) * 0x94D049BB133111EB
	h = (h ^ h>>27) * 0xBF58476D1CE4E5B9
	return h ^ h>>31
}

// unit is a number in (0, 1) from a hash.
func unit(h uint64) float64 { return (float64(h>>12) + 0.5) / (1 << 52) }

type entry struct {
	at     event.Time
	width  float64
	src    event.Node
	action int32 // after which it was drawn: the source may have acted again
	number int   // of the point after the action
}

// pending is a heap of points, the earliest first.
type pending []entry

func (p pending) Len() int { return len(p) }
func (p pending) Less(i, j int) bool {
	if p[i].at != p[j].at {
		return p[i].at < p[j].at
	}
	return p[i].src < p[j].src
}
func (p pending) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pending) Push(x any)   { *p = append(*p, x.(entry)) }
func (p *pending) Pop() any {
	old := *p
	x := old[len(old)-1]
	*p = old[:len(old)-1]
	return x
}
