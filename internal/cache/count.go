package cache

import (
	"math"
	"math/bits"

	"github.com/dygmamba/dygmamba/event"
)

// asked is an event of validation or test as the counts before it see it.
type asked struct {
	part   [components]float64
	bucket int8 // how active the source was
	first  bool // the pair had not met before, in either direction
}

const buckets = 8 // by the logarithm of a source's earlier events

// history is what a replay found.
type history struct{ val, test []asked }

// replay walks a log once and notes what the counts say of every event from position val on.
func replay(log event.Span, val, test int) history {
	var h history
	n := log.Len()
	if n == 0 {
		return h
	}
	c := newCounts(log.Time[min(val, n-1)] - log.Time[0])
	for lo := 0; lo < n; {
		hi := lo + 1
		for hi < n && log.Time[hi] == log.Time[lo] {
			hi++
		}
		for i := max(lo, val); i < hi; i++ {
			e := c.ask(log.Src[i], log.Dst[i], log.Time[i])
			if i < test {
				h.val = append(h.val, e)
			} else {
				h.test = append(h.test, e)
			}
		}
		for i := lo; i < hi; i++ {
			c.add(log.Src[i], log.Dst[i], log.Time[i])
		}
		lo = hi
	}
	return h
}

// decayed is a count whose events fade, on every time scale. It is as of time at.
type decayed struct {
	sum [scales]float64
	at  event.Time
}

// plain is a decayed count and the same without decay.
type plain struct {
	decayed
	all int
}

type pair struct{ src, dst event.Node }

// counts is all that the rules know of the events so far.
type counts struct {
	rate    [scales]float64 // of decay
	pairs   map[pair]*plain
	sources map[event.Node]*plain
	targets map[event.Node]*plain
	total   plain
	latest  map[event.Node]event.Node // of each source: its last destination
	after   map[pair]int              // how often dst followed src in the list of somebody's destinations
	leaving map[event.Node]int        // how often anything followed
}

func newCounts(span event.Time) *counts {
	c := &counts{
		pairs: map[pair]*plain{}, sources: map[event.Node]*plain{}, targets: map[event.Node]*plain{},
		latest: map[event.Node]event.Node{}, after: map[pair]int{}, leaving: map[event.Node]int{},
	}
	for s, part := range [scales]float64{1000, 30, 2} {
		if span > 0 {
			c.rate[s] = part / span
		}
	}
	return c
}

// add counts an event.
func (c *counts) add(u, v event.Node, t event.Time) {
	c.count(get(c.pairs, pair{u, v}), t)
	c.count(get(c.sources, u), t)
	c.count(get(c.targets, v), t)
	c.count(&c.total, t)
	if z, ok := c.latest[u]; ok {
		c.after[pair{z, v}]++
		c.leaving[z]++
	}
	c.latest[u] = v
}

func get[K comparable](m map[K]*plain, k K) *plain {
	x := m[k]
	if x == nil {
		x = new(plain)
		m[k] = x
	}
	return x
}

func (c *counts) count(x *plain, t event.Time) {
	now := c.read(x, t)
	for s := range now {
		x.sum[s] = now[s] + 1
	}
	x.at = t
	x.all++
}

// read is a count as of a time; nil has none.
func (c *counts) read(x *plain, t event.Time) (now [scales]float64) {
	if x == nil || x.all == 0 {
		return now
	}
	for s := range now {
		now[s] = x.sum[s] * math.Exp(-c.rate[s]*(t-x.at))
	}
	return now
}

// ask notes what the counts say of an event that is about to be added.
func (c *counts) ask(u, v event.Node, t event.Time) asked {
	var e asked
	met, source, target := c.pairs[pair{u, v}], c.sources[u], c.targets[v]
	mine, all := c.read(met, t), c.read(source, t)
	popular, total := c.read(target, t), c.read(&c.total, t)
	for s := range scales {
		e.part[ownFast+s] = over(mine[s], all[s])
		e.part[popFast+s] = over(popular[s], total[s])
	}
	e.part[own] = over(times(met), times(source))
	e.part[pop] = over(times(target), float64(c.total.all))
	if z, ok := c.latest[u]; ok {
		if z == v {
			e.part[last] = 1
		}
		e.part[follows] = over(float64(c.after[pair{z, v}]), float64(c.leaving[z]))
	}
	back := c.pairs[pair{v, u}]
	e.part[reply] = over(c.read(back, t)[middle], c.read(c.targets[u], t)[middle])
	e.part[uniform] = 1 / float64(len(c.targets)+1)
	e.first = met == nil && back == nil
	e.bucket = int8(min(buckets-1, bits.Len(uint(times(source))+1)-1))
	return e
}

func times(x *plain) float64 {
	if x == nil {
		return 0
	}
	return float64(x.all)
}

// over is a share, 0 of nothing.
func over(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}
