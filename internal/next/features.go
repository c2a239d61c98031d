package next

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Setup says what is counted, and on which scale of time.
type Setup struct {
	Span     event.Time // how long the training period lasts
	Together bool       // what happened at one instant
	Profiles bool       // what nodes are chosen with, and by whom
	Steps    bool       // how many events ago a candidate was a destination
	Window   int        // only the latest events are counted, from one to two times as many as this; 0: all
}

// Width is the number of features of a candidate.
func (s Setup) Width() int { return NewCounts(s).width }

// SourceWidth is the number of features of a source.
func (s Setup) SourceWidth() int { return len(NewCounts(s).At(nil, 0, 0).Source(nil)) }

// never stands for the time since an event that has not happened.
const never = 1.5

// share is a part of a whole on a logarithmic scale, between 0 and about 1.
func share(part, whole float32) float32 {
	if !(part > 0 && whole > 0) {
		return 0
	}
	return 1 + float32(math.Log(float64(part/whole)+1e-5))/11.5
}

// often is a number of events on a logarithmic scale.
func often(n int) float32 { return float32(math.Log1p(float64(n))) / 6 }

// age is the time since an event on a logarithmic scale; 1 is about the training period.
func (w *View) age(last event.Time) float32 {
	if math.IsInf(last, 0) {
		return never
	}
	return float32(math.Log1p((w.at-last)*w.c.unit)) / 14
}

func flag(x bool) float32 {
	if x {
		return 1
	}
	return 0
}

// Features appends what is known of a candidate, seen from the source.
func (w *View) Features(x []float32, v event.Node) []float32 {
	uv, vu := w.c.links[pairOf(w.src, v)], w.c.links[pairOf(v, w.src)]
	x = append(x, flag(uv == nil && vu == nil), flag(v == w.src))
	x = w.sentTo(x, uv)
	x = w.receivedFrom(x, v, uv, vu)
	x = w.popularity(x, v)
	x = w.following(x, v)
	if w.c.setup.Together {
		x = w.together(x, v, uv)
	}
	if w.c.setup.Profiles {
		x = w.likeness(x, v)
	}
	if w.c.setup.Steps {
		x = append(x, w.steps(v))
	}
	// the source itself, for what depends on both
	return append(x, often(int(w.of.srcCount)), often(int(w.of.dstCount)), w.age(w.of.srcLast),
		often(len(w.of.partners)), share(w.c.read(&w.of.fresh, w.at)[1], w.sent[1]))
}

// sentTo appends what the source has done with the candidate.
func (w *View) sentTo(x []float32, l *link) []float32 {
	if l == nil {
		return append(x, 0, 0, 0, 0, 0, 0, 0, 0, never, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	now, pace, ago := w.c.read(&l.fade, w.at), l.paced(w.of.actions), w.of.actions-l.when
	x = append(x, 1, often(int(l.count)))
	for s := range now {
		x = append(x, share(now[s], w.sent[s]))
	}
	x = append(x, share(now[scales-1], 1), share(float32(l.count), float32(w.of.srcCount)), w.age(l.last))
	for k := range pace {
		x = append(x, share(pace[k], 1))
	}
	x = append(x, 1/float32(1+ago), flag(ago == 0), flag(ago == 1), often(int(ago)))
	if l.count == 1 {
		return append(x, 0, 0, 0)
	}
	// is it time again?
	ratio := math.Log((w.at - l.last + 1/w.c.unit) / (float64(l.gap) + 1/w.c.unit))
	return append(x, 1, float32(max(-3, min(3, ratio)))/3, float32(math.Exp(-ratio*ratio)))
}

// receivedFrom appends what the candidate has done with the source, and whether that was the last word.
func (w *View) receivedFrom(x []float32, v event.Node, uv, vu *link) []float32 {
	if vu == nil {
		return append(x, 0, 0, never, 0, 0, 0, 0, 0, 0)
	}
	now, b := w.c.read(&vu.fade, w.at), &w.c.nodes[v]
	return append(x, 1, often(int(vu.count)), w.age(vu.last), share(now[0], w.received[0]),
		share(now[1], w.received[1]), share(now[scales-1], 1), flag(vu.last > w.of.srcLast),
		flag(uv != nil && vu.last > uv.last), flag(b.srcCount > 0 && b.latest[0] == w.src))
}

// popularity appends what the candidate has done with anyone.
func (w *View) popularity(x []float32, v event.Node) []float32 {
	b := w.c.actor(v)
	taken, acted := w.c.read(&b.dst, w.at), w.c.read(&b.src, w.at)
	for s := range taken {
		x = append(x, share(taken[s], w.total[s]))
	}
	return append(x, share(float32(b.dstCount), float32(len(w.c.all))), w.age(b.dstLast), w.age(b.srcLast),
		w.age(b.firstSeen), often(int(b.dstCount)), often(int(b.srcCount)), often(len(b.partners)),
		share(acted[0], w.total[0]), share(acted[1], w.total[1]), share(acted[scales-1], w.total[scales-1]),
		share(w.c.read(&b.fresh, w.at)[2], acted[2]))
}

// following appends how the candidate relates to what the source did last, and to those it knows.
func (w *View) following(x []float32, v event.Node) []float32 {
	place, chosen := w.place[v]
	if chosen {
		x = append(x, 1/float32(1+place), flag(place == 0), flag(place == 1))
	} else {
		x = append(x, 0, 0, 0)
	}
	x = append(x, share(w.follow[v], 3), float32(math.Log1p(float64(w.common[v]))))
	var last, both, second, when float32
	if w.of.srcCount > 0 {
		z := w.of.latest[0]
		if s := w.c.steps[pairOf(z, v)]; s != nil {
			last, when = share(float32(s.count), float32(len(w.c.nodes[z].followers))), 1-w.age(s.last)
		}
		if w.of.srcCount > 1 {
			y := w.of.latest[1]
			both = share(float32(w.c.twice[triple(y, z, v)]), float32(w.c.double[pairOf(y, z)]))
			if s := w.c.steps[pairOf(y, v)]; s != nil {
				second = share(float32(s.count), float32(len(w.c.nodes[y].followers)))
			}
		}
	}
	return append(x, last, when, both, second)
}

// steps is how many events of all there were since the instant at which a candidate was last a destination, those of
// that instant included, on a logarithmic scale. Time and events tell different things where nights have few of them.
func (w *View) steps(v event.Node) float32 {
	began := w.c.actor(v).began
	if began < 0 {
		return 2
	}
	return often(len(w.c.all) - int(began))
}

// Source appends what is known of the source alone: will it return to someone, or meet someone for the first time?
func (w *View) Source(x []float32) []float32 {
	a, c := w.of, w.c
	if c.setup.Together {
		x = w.lastGroup(x)
	}
	fresh, first, unseen := c.read(&a.fresh, w.at), c.read(&c.first, w.at), c.read(&c.unseen, w.at)
	ratio := func(part, whole float32) float32 {
		if whole < 1e-6 {
			return 0
		}
		return part / whole
	}
	for s := range fresh {
		x = append(x, share(fresh[s], w.sent[s]), ratio(fresh[s], w.sent[s]), ratio(first[s], w.total[s]),
			share(unseen[s], w.total[s]), share(w.sent[s], w.total[s]))
	}
	for i := range 8 {
		news := float32(0)
		if int(a.srcCount) > i {
			news = float32(a.news>>i&1)*2 - 1
		}
		x = append(x, news)
	}
	x = append(x, a.freshPace[:]...)
	return append(x, often(int(a.srcCount)), often(len(a.partners)), often(int(a.dstCount)), often(int(a.actions)),
		w.age(a.srcLast), w.age(a.dstLast), w.age(a.firstSeen), flag(a.srcCount == 0), flag(len(a.partners) == 0),
		share(float32(len(a.partners)), float32(len(c.dests))), share(w.sent[scales-1], 1),
		share(w.received[scales-1], 1))
}
