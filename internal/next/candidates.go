package next

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// Candidate is a destination that an event is held against in training, and how likely it was to be drawn.
type Candidate struct {
	Node event.Node
	LogQ float32 // up to a constant that all candidates of an event share
}

// Draw appends the destination of an event, which must be known, and at most most others of its group. Where the group
// is small, all of it is taken. Otherwise others are drawn by several rules at once: whom the source chose before,
// lately, what is popular, what is popular now, what usually follows, and anyone. A candidate that is drawn twice
// counts twice; a draw of the destination itself, or of a node of another group, is dropped.
func (w *View) Draw(to []Candidate, dst event.Node, most int, gen *rng.Source) []Candidate {
	if w.GroupOf(dst) == Returning {
		return w.drawReturning(to, dst, most, gen)
	}
	return w.drawFirst(to, dst, most, gen)
}

func (w *View) drawReturning(to []Candidate, dst event.Node, most int, gen *rng.Source) []Candidate {
	partners, own := w.of.partners, w.of.own
	if len(partners) <= most+1 {
		to = append(to, Candidate{Node: dst})
		for _, v := range partners {
			if v != dst && w.c.Known(v) {
				to = append(to, Candidate{Node: v})
			}
		}
		return to
	}
	to = append(to, Candidate{dst, w.logReturning(dst)})
	latest := tail(own, late)
	for range most {
		var v event.Node
		switch rule := gen.Below(3); {
		case rule == 0 || len(own) == 0:
			v = partners[gen.Below(len(partners))]
		case rule == 1:
			v = own[gen.Below(len(own))]
		default:
			v = latest[gen.Below(len(latest))]
		}
		if v != dst && w.c.Known(v) {
			to = append(to, Candidate{v, w.logReturning(v)})
		}
	}
	return to
}

// logReturning is the logarithm of how likely drawReturning is to draw a partner.
func (w *View) logReturning(v event.Node) float32 {
	each := 1.0 / 3
	if len(w.of.own) == 0 {
		return float32(-math.Log(float64(len(w.of.partners))))
	}
	q := each / float64(len(w.of.partners))
	if l := w.c.links[pairOf(w.src, v)]; l != nil {
		q += each * float64(l.count) / float64(len(w.of.own))
		latest, n := tail(w.of.own, late), 0
		for _, x := range latest {
			if x == v {
				n++
			}
		}
		q += each * float64(n) / float64(len(latest))
	}
	return float32(math.Log(q))
}

// Shares of the rules by which someone the source has not met is drawn.
const (
	anyone  = 0.3
	popular = 0.2
	current = 0.2
	follows = 0.3
)

func (w *View) drawFirst(to []Candidate, dst event.Node, most int, gen *rng.Source) []Candidate {
	c := w.c
	if len(c.dests) <= most+1 {
		to = append(to, Candidate{Node: dst})
		for _, v := range c.dests {
			if v != dst && !c.Met(w.src, v) {
				to = append(to, Candidate{Node: v})
			}
		}
		return to
	}
	to = append(to, Candidate{dst, w.logFirst(dst)})
	after := w.after()
	for range most {
		var v event.Node
		switch r := gen.Float64(); {
		case r < popular:
			v = c.all[gen.Below(len(c.all))]
		case r < popular+current:
			v = c.all[len(c.all)-1-gen.Below(min(window, len(c.all)))]
		case r < popular+current+follows && len(after) > 0:
			v = after[gen.Below(len(after))]
		default:
			v = c.dests[gen.Below(len(c.dests))]
		}
		if v != dst && !c.Met(w.src, v) {
			to = append(to, Candidate{v, w.logFirst(v)})
		}
	}
	return to
}

// after is what followed upon the source's last destination.
func (w *View) after() []event.Node {
	if w.of.srcCount == 0 {
		return nil
	}
	return w.c.nodes[w.of.latest[0]].followers
}

// logFirst is the logarithm of how likely drawFirst is to draw a destination.
func (w *View) logFirst(v event.Node) float32 {
	c, after := w.c, w.after()
	rest := anyone
	q := popular * float64(c.nodes[v].dstCount) / float64(len(c.all))
	q += current * float64(c.in[v]) / float64(min(window, len(c.all)))
	if len(after) == 0 {
		rest += follows
	} else if s := c.steps[pairOf(w.of.latest[0], v)]; s != nil {
		q += follows * float64(s.count) / float64(len(after))
	}
	return float32(math.Log(q + rest/float64(len(c.dests))))
}
