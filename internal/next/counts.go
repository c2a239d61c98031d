// Package next answers: who is it next? It counts, of every node and every pair, how often and how lately they acted,
// and turns the counts into numbers that a small network can learn from.
//
// All that is known of a question at time t follows from the events strictly before t. Events of one instant do not
// see each other.
package next

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

const (
	scales = 4  // time scales of decayed counts
	paces  = 3  // decays by a source's own actions
	recent = 8  // latest destinations that are kept of every source
	late   = 32 // a source's latest events, from which candidates are drawn
	window = 2000
)

// parts of the training period that are the time scales of decay.
var parts = [scales]float64{1000, 30, 2, 30000}

// keep is what a count keeps from one action of its source to the next.
var keep = [paces]float64{0.6, 0.9, 0.98}

// fading is a count that decays on every time scale; it is as of time at.
type fading struct {
	sum [scales]float32
	at  event.Time
}

// actor is what is known of a node.
type actor struct {
	src, dst  fading // events as a source, and as a destination
	fresh     fading // events as a source with someone it had not met
	srcCount  int32
	dstCount  int32
	actions   int32 // distinct times at which it was a source
	freshPace [paces]float32
	srcLast   event.Time
	dstLast   event.Time
	firstSeen event.Time
	latest    [recent]event.Node // destinations, newest first
	news      uint8              // of its latest events, newest in bit 0: whether they were first meetings
	own       []event.Node       // destinations of all its events
	partners  []event.Node       // distinct, in either direction, in the order of their first meeting
	followers []event.Node       // as a destination: what sources chose next

	group  int32        // of its latest action
	same   []event.Node // distinct destinations of its latest action
	weight weighed      // its events, decayed by its actions
	inbox  [inbox]int32 // groups that it was lately a destination of, newest first, from 1
	with   []event.Node // destinations that were together with it
	is     *profiles

	began int32 // events of all before the instant at which it was last a destination; −1: it never was
}

// link is what is known of a directed pair.
type link struct {
	fade   fading
	pace   [paces]float32 // decayed by the source's actions, as of action number
	when   int32          // the source's action at which it happened last
	count  int32
	last   event.Time
	gap    float32 // mean time between its latest events
	weight weighed // as that of its source
}

// step is how often, and when last, a destination followed another.
type step struct {
	count int32
	last  event.Time
}

// pair is a directed pair of nodes.
type pair uint64

func pairOf(u, v event.Node) pair { return pair(uint64(uint32(u))<<32 | uint64(uint32(v))) }

// Counts is what is known after some events.
type Counts struct {
	setup   Setup
	width   int // features of a candidate
	rate    [scales]float64
	unit    float64 // of logarithms of time: a millionth of the training period
	nodes   []actor
	links   map[pair]*link
	steps   map[pair]*step
	twice   map[uint64]int32     // how often a destination followed upon two others, by a hash of the three
	double  map[pair]int32       // how often anything followed upon two destinations
	total   fading               // all events
	first   fading               // first meetings
	unseen  fading               // events with a destination that had never been one
	dests   []event.Node         // destinations in the order of their first event
	order   []int32              // of each node: its position in dests, from 1; 0 for no destination
	all     []event.Node         // destinations of all events
	at      event.Time           // of the last event
	began   int32                // events before that time
	in      map[event.Node]int32 // of the latest events, how many have a destination
	few     [2]int               // destinations with one event, and with two
	bundles []bundle
}

// NewCounts begins with nothing.
func NewCounts(setup Setup) *Counts {
	span := setup.Span
	if !(span > 0) {
		span = 1
	}
	c := &Counts{
		setup: setup, unit: 1e6 / span, links: map[pair]*link{}, steps: map[pair]*step{}, twice: map[uint64]int32{},
		double: map[pair]int32{}, in: map[event.Node]int32{},
	}
	for s, part := range parts {
		c.rate[s] = part / span
	}
	c.width = len(c.At(nil, 0, 0).Features(nil, 0))
	return c
}

// Len is the number of events.
func (c *Counts) Len() int { return len(c.all) }

// Destinations are all nodes that have been one, in the order of their first event. The slice belongs to c.
func (c *Counts) Destinations() []event.Node { return c.dests }

// Unseen estimates how many destinations there are that were not seen yet, at least 1: Chao's f₁²/2f₂ from how many
// were seen once and twice (Chao: Nonparametric Estimation of the Number of Classes in a Population, 1984).
func (c *Counts) Unseen() float64 {
	once, twice := float64(c.few[0]), float64(c.few[1])
	return max(1, once*once/(2*max(1, twice)))
}

// Known says whether a node has been a destination.
func (c *Counts) Known(v event.Node) bool { return v >= 0 && int(v) < len(c.order) && c.order[v] > 0 }

// Met says whether two nodes have an event, in either direction.
func (c *Counts) Met(u, v event.Node) bool {
	return c.links[pairOf(u, v)] != nil || c.links[pairOf(v, u)] != nil
}

// Add counts an event. Events come in the order of time.
func (c *Counts) Add(u, v event.Node, t event.Time) {
	c.grow(max(u, v))
	a, b := &c.nodes[u], &c.nodes[v]
	fresh := float32(0)
	if !c.Met(u, v) {
		fresh = 1
		a.partners = append(a.partners, v)
		if u != v {
			b.partners = append(b.partners, u)
		}
	}
	novel := float32(0)
	if c.order[v] == 0 {
		novel = 1
		c.dests = append(c.dests, v)
		c.order[v] = int32(len(c.dests))
	}
	opens := a.srcCount == 0 || a.srcLast != t
	c.act(a, fresh, t)
	l, repeats := c.addLink(a, u, v, t)
	if c.setup.Together {
		c.addTogether(a, b, u, v, l, opens, repeats, t)
	}
	if c.setup.Profiles {
		c.addProfiles(a, b, u, v)
	}
	c.addSteps(a, v, t)
	for _, f := range []struct {
		count *fading
		by    float32
	}{{&a.fresh, fresh}, {&c.first, fresh}, {&c.unseen, novel}, {&a.src, 1}, {&b.dst, 1}, {&c.total, 1}} {
		c.tick(f.count, t, f.by)
	}
	a.news = a.news<<1 | uint8(fresh)
	a.own = append(a.own, v)
	copy(a.latest[1:], a.latest[:recent-1])
	a.latest[0] = v
	a.srcCount++
	b.dstCount++
	switch b.dstCount {
	case 1:
		c.few[0]++
	case 2:
		c.few[0], c.few[1] = c.few[0]-1, c.few[1]+1
	case 3:
		c.few[1]--
	}
	a.srcLast, b.dstLast = t, t
	a.firstSeen, b.firstSeen = min(a.firstSeen, t), min(b.firstSeen, t)
	if t != c.at {
		c.at, c.began = t, int32(len(c.all))
	}
	b.began = c.began
	c.all = append(c.all, v)
	c.in[v]++
	if old := len(c.all) - 1 - window; old >= 0 {
		if left := c.all[old]; c.in[left] == 1 {
			delete(c.in, left)
		} else {
			c.in[left]--
		}
	}
}

func (c *Counts) grow(n event.Node) {
	for int(n) >= len(c.nodes) {
		c.nodes = append(c.nodes, actor{srcLast: math.Inf(-1), dstLast: math.Inf(-1), firstSeen: math.Inf(1),
			began: -1})
		c.order = append(c.order, 0)
	}
}

// actor is what is known of a node, which may be nothing.
func (c *Counts) actor(n event.Node) *actor {
	if n >= 0 && int(n) < len(c.nodes) {
		return &c.nodes[n]
	}
	return &stranger
}

// stranger is a node of which nothing is known.
var stranger = actor{srcLast: math.Inf(-1), dstLast: math.Inf(-1), firstSeen: math.Inf(1), began: -1}

// act counts an action of a source: its events of one instant are one.
func (c *Counts) act(a *actor, fresh float32, t event.Time) {
	if a.srcCount == 0 || a.srcLast != t {
		a.actions++
		for k := range a.freshPace {
			a.freshPace[k] *= float32(keep[k])
		}
	}
	for k := range a.freshPace {
		a.freshPace[k] += float32(1-keep[k]) * fresh / 2
	}
}

func (c *Counts) addLink(a *actor, u, v event.Node, t event.Time) (l *link, repeats bool) {
	l = c.links[pairOf(u, v)]
	if l == nil {
		l = &link{last: math.Inf(-1)}
		c.links[pairOf(u, v)] = l
	} else {
		l.gap += (float32(t-l.last) - l.gap) / float32(min(l.count, 8))
	}
	l.pace = l.paced(a.actions)
	if repeats = l.count > 0 && l.when == a.actions; !repeats {
		for k := range l.weight {
			l.weight[k] *= float32(math.Pow(keep[k], float64(a.actions-l.when)))
		}
		for k := range l.pace {
			l.pace[k] += float32(1 - keep[k])
		}
	}
	l.when = a.actions
	c.tick(&l.fade, t, 1)
	l.count++
	l.last = t
	return l, repeats
}

// addSteps counts what a destination followed upon.
func (c *Counts) addSteps(a *actor, v event.Node, t event.Time) {
	if a.srcCount == 0 {
		return
	}
	z := a.latest[0]
	s := c.steps[pairOf(z, v)]
	if s == nil {
		s = new(step)
		c.steps[pairOf(z, v)] = s
	}
	s.count++
	s.last = t
	c.nodes[z].followers = append(c.nodes[z].followers, v)
	if a.srcCount > 1 {
		y := a.latest[1]
		c.twice[triple(y, z, v)]++
		c.double[pairOf(y, z)]++
	}
}

// triple is a hash of three nodes.
func triple(a, b, v event.Node) uint64 {
	h := uint64(uint32(a))*0x9E3779B97F4A7C15 ^ uint64(uint32(b))*0xC2B2AE3D27D4EB4F + uint64(uint32(v))
	h = (h ^ h>>29) * 0xBF58476D1CE4E5B9
	return h ^ h>>32
}

// read is a decayed count as of a time.
func (c *Counts) read(f *fading, t event.Time) (now [scales]float32) {
	for s := range now {
		if f.sum[s] != 0 {
			now[s] = f.sum[s] * float32(math.Exp(-c.rate[s]*(t-f.at)))
		}
	}
	return now
}

func (c *Counts) tick(f *fading, t event.Time, by float32) {
	now := c.read(f, t)
	for s := range now {
		f.sum[s] = now[s] + by
	}
	f.at = t
}

// paced is the share of its source's actions that the pair had, as of an action of the source.
func (l *link) paced(action int32) (now [paces]float32) {
	if l.count == 0 {
		return now
	}
	for k := range now {
		now[k] = l.pace[k] * float32(math.Pow(keep[k], float64(action-l.when)))
	}
	return now
}
