package next

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Every node has a random sign in each of 64 places. A profile is a decayed sum of the signs of nodes, or of profiles:
// two profiles point in the same direction where they were made of the same nodes. So they tell, in little memory, how
// alike two nodes are by all that was counted.

const (
	signs   = 64
	fades   = 0.98 // what a profile keeps from one event to the next
	company = 4    // a source's latest destinations that a further one is in the company of
)

// profile is a decayed sum, and its length.
type profile struct {
	x    [signs]float32
	size float32
}

// profiles of a node.
type profiles struct {
	chosen   profile // destinations, where it is a source
	choosers profile // sources, where it is a destination
	audience profile // what its sources chose
	company  profile // what its sources chose just before or after it
}

// signsOf are the signs of a node, as bits.
func signsOf(n event.Node) uint64 {
	h := uint64(uint32(n))*0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return h ^ h>>31
}

func (p *profile) addNode(n event.Node) {
	h := signsOf(n)
	for i := range p.x {
		p.x[i] = p.x[i]*fades + float32(int(h>>i&1)*2-1)
	}
	p.measure()
}

func (p *profile) addProfile(q *profile) {
	if q.size == 0 {
		return
	}
	by := 1 / q.size
	for i := range p.x {
		p.x[i] = p.x[i]*fades + q.x[i]*by
	}
	p.measure()
}

func (p *profile) measure() { p.size = float32(math.Sqrt(float64(p.dot(p)))) }

func (p *profile) dot(q *profile) (sum float32) {
	for i := range p.x {
		sum += p.x[i] * q.x[i]
	}
	return sum
}

// like is how alike two profiles are, from −1 to 1, and 0 where one is empty.
func (p *profile) like(q *profile) float32 {
	if p.size == 0 || q.size == 0 {
		return 0
	}
	return p.dot(q) / (p.size * q.size)
}

// addProfiles counts an event.
func (c *Counts) addProfiles(a, b *actor, u, v event.Node) {
	if a.is == nil {
		a.is = new(profiles)
	}
	if b.is == nil {
		b.is = new(profiles)
	}
	b.is.choosers.addNode(u)
	b.is.audience.addProfile(&a.is.chosen)
	for _, z := range a.latest[:min(company, int(a.srcCount))] {
		b.is.company.addNode(z)
		c.nodes[z].is.company.addNode(v)
	}
	a.is.chosen.addNode(v)
}

// blankProfiles are those of a node that nothing is known of.
var blankProfiles profiles

func (a *actor) profiles() *profiles {
	if a.is == nil {
		return &blankProfiles
	}
	return a.is
}

// lookProfiles sums up the profiles of the source's latest destinations.
func (w *View) lookProfiles(latest []event.Node) {
	w.lately = profiles{}
	for i := len(latest) - 1; i >= 0; i-- {
		z := w.c.nodes[latest[i]].profiles()
		w.lately.choosers.addProfile(&z.choosers)
		w.lately.audience.addProfile(&z.audience)
		w.lately.company.addProfile(&z.company)
	}
	w.self = w.of.profiles()
}

// likeness appends how alike a candidate is to what the source chose.
func (w *View) likeness(x []float32, v event.Node) []float32 {
	p := w.c.actor(v).profiles()
	return append(x,
		p.audience.like(&w.self.chosen), p.choosers.like(&w.lately.choosers), p.company.like(&w.lately.company),
		p.audience.like(&w.lately.audience), p.company.like(&w.self.chosen),
		p.choosers.like(&w.self.choosers), p.chosen.like(&w.self.chosen))
}
