package rate

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Point is a source at a time, and the stretch of time that it stands for, in training periods.
type Point struct {
	Src    event.Node
	At     event.Time
	Weight float64
}

// points visits times between events at which rates are looked at. Summed with their weights, what a function of a
// source and a time is at the points estimates, without bias, its integral over the time from each source's first event
// on: after every action of a source, points are drawn from several stretches of time, which become longer and longer,
// and count if the source has not acted again by then.
type points struct {
	clock   Clock
	pieces  [stretches]pieces
	key     uint64 // of what is drawn
	last    []event.Time
	actions []int32
	heap    []entry // the earliest first
	lattice lattice // of the times of events: points are among them
}

// pieces are parts of a stretch of time after an action, all of one width in training periods. One point is drawn in
// each.
type pieces struct {
	from  int32 // number of the first one, counted from the action on
	lo    float64
	width float64
}

// entry is a point that is planned.
type entry struct {
	at     event.Time
	width  float64
	src    event.Node
	action int32 // after which it was drawn: the source may have acted again
	number int32 // of the point after the action
}

func newPoints(c Clock, each int, widest float64, key uint64) *points {
	p := &points{clock: c, key: key}
	p.cut(each, widest)
	return p
}

// cut cuts the stretches of time after an action into pieces: some each, and more where a stretch lasts for hours, in
// which rates rise and fall. Where days are known, no piece of a training period is wider than the widest one.
func (p *points) cut(each int, widest float64) {
	from := int32(0)
	for k := range stretches {
		lo, hi := stretch(k)
		n := each
		if days := (hi - lo) * p.clock.Span / max(p.clock.Day, 1e-300); p.clock.Day > 0 && days < 2 {
			n = max(n, min(12, int(48*days)))
		}
		if p.clock.Day > 0 && widest > 0 && lo < 1 {
			n = max(n, int(math.Ceil((hi-lo)/widest)))
		}
		p.pieces[k] = pieces{from, lo, (hi - lo) / float64(n)}
		from += int32(n)
	}
}

// widestPiece is how wide a piece is at most, in training periods, for this many points between the events of some
// sources in a period: but not less than five minutes, as nothing that depends on the time of the day changes faster.
func (c Clock) widestPiece(sources int, period event.Time, most float64) float64 {
	return max(c.Day/288, float64(sources)*period/most) / c.Span
}

// act learns of an event, and plans points after it. Points up to its time must have been visited.
func (p *points) act(u event.Node, t event.Time) {
	if p.note(u, t) {
		p.draw(u, 0, t)
	}
}

// begin plans points from a time on, after the last actions of all sources.
func (p *points) begin(from event.Time) {
	for u, n := range p.actions {
		if n == 0 {
			continue
		}
		since, k := (from-p.last[u])/p.clock.Span, 0
		for k < stretches-1 && since >= p.pieces[k+1].lo {
			k++
		}
		x := p.pieces[k]
		p.draw(event.Node(u), x.from+int32(max(0, since-x.lo)/x.width), p.last[u])
	}
}

// note learns of an event, and says whether it is a new action.
func (p *points) note(u event.Node, t event.Time) bool {
	p.lattice.note(t)
	for int(u) >= len(p.last) {
		p.last, p.actions = append(p.last, 0), append(p.actions, 0)
	}
	if p.actions[u] > 0 && t <= p.last[u] {
		return false
	}
	p.actions[u]++
	p.last[u] = t
	return true
}

// next is the next point up to a time, at which nothing has happened yet.
func (p *points) next(t event.Time) (Point, bool) {
	for len(p.heap) > 0 && p.heap[0].at <= t {
		e := p.pop()
		if p.actions[e.src] == e.action {
			p.draw(e.src, e.number+1, e.at)
			return Point{e.src, e.at, e.width}, true
		}
	}
	return Point{}, false
}

// mostPoints is how many points there are in a period, about, where stretches of time are cut further for the hours of
// the day.
const mostPoints = 1e6

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

// draw plans the next point of a source, not before the one before it: steps become finer while few events are known.
func (p *points) draw(u event.Node, number int32, from event.Time) {
	k := stretches - 1
	for p.pieces[k].from > number {
		k--
	}
	_, end := stretch(k)
	width := p.pieces[k].width
	lo := p.pieces[k].lo + float64(number-p.pieces[k].from)*width
	if lo > end-width/2 { // the last one was there
		return
	}
	part := unit(mix(mix(mix(p.key, uint64(u)), uint64(p.actions[u])), uint64(number)))
	at := max(from, p.lattice.up(p.last[u]+(lo+width*part)*p.clock.Span))
	p.push(entry{at, width, u, p.actions[u], number})
}

func (e *entry) before(o *entry) bool { return e.at < o.at || e.at == o.at && e.src < o.src }

func (p *points) push(e entry) {
	p.heap = append(p.heap, e)
	h, i := p.heap, len(p.heap)-1
	for i > 0 && h[i].before(&h[(i-1)/2]) {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		i = (i - 1) / 2
	}
}

func (p *points) pop() entry {
	h, n := p.heap, len(p.heap)-1
	first := h[0]
	h[0] = h[n]
	p.heap = h[:n]
	for i := 0; ; {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < n; k++ {
			if h[k].before(&h[least]) {
				least = k
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
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
