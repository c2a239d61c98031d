package next

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Events of one source at one instant belong together: an e-mail to several people, a commit of several files. What was
// together once is often together again, and who got the same e-mail may write to each other.

const (
	inbox   = 4   // latest groups that are kept of every destination
	nearby  = 16  // destinations of a group that a further one is together with
	crowded = 64  // destinations of a group that are looked at
	fellows = 256 // destinations that were together with one, which are looked at
)

// bundle is a group of events of one source at one instant, as a range of the source's events.
type bundle struct {
	src      event.Node
	from, to int32
	at       event.Time
}

// weighed is a source's events, decayed by its actions.
type weighed [paces]float32

func (x *weighed) later() {
	for k := range x {
		x[k] *= float32(keep[k])
	}
}

// addTogether counts an event as a part of its group. It comes before the event is in the source's list.
func (c *Counts) addTogether(a, b *actor, u, v event.Node, l *link, opens, repeats bool, t event.Time) {
	if opens {
		a.group = int32(len(c.bundles))
		c.bundles = append(c.bundles, bundle{src: u, from: int32(len(a.own)), to: int32(len(a.own)), at: t})
		a.same = a.same[:0]
		a.weight.later()
	}
	for k := range a.weight {
		a.weight[k]++
		l.weight[k]++
	}
	c.bundles[a.group].to++
	if repeats {
		return
	}
	copy(b.inbox[1:], b.inbox[:inbox-1])
	b.inbox[0] = a.group + 1
	for _, z := range tail(a.same, nearby) {
		c.nodes[z].join(v)
		b.join(z)
	}
	a.same = append(a.same, v)
}

// join keeps a destination that was together with this one, and forgets old ones.
func (a *actor) join(v event.Node) {
	if len(a.with) == 2*fellows {
		a.with = append(a.with[:0], a.with[fellows:]...)
	}
	a.with = append(a.with, v)
}

// heard is that a candidate was a destination together with the source.
type heard struct {
	place int
	at    event.Time
}

// lookTogether finds what was together with the source, and with its latest destinations.
func (w *View) lookTogether(latest []event.Node) {
	clear(w.heard)
	clear(w.fellow)
	clear(w.near)
	for place, id := range w.of.inbox {
		if id == 0 {
			break
		}
		g := w.c.bundles[id-1]
		for _, v := range w.c.nodes[g.src].own[g.from:min(g.to, g.from+crowded)] {
			if _, found := w.heard[v]; !found {
				w.heard[v] = heard{place, g.at}
			}
		}
	}
	tally(w.fellow, w.of.with, fellows, 1)
	for i, z := range latest {
		if w.place[z] == i {
			tally(w.near, w.c.nodes[z].with, crowded, 1/float32(1+i))
		}
	}
}

// tally adds shares of the last of a list.
func tally(to map[event.Node]float32, list []event.Node, most int, weight float32) {
	list = tail(list, most)
	for _, v := range list {
		to[v] += weight / float32(len(list))
	}
}

// together appends what is known of a candidate from groups.
func (w *View) together(x []float32, v event.Node, l *link) []float32 {
	if h, found := w.heard[v]; found {
		x = append(x, 1, 1/float32(1+h.place), flag(h.place == 0), w.age(h.at), flag(h.at > w.of.srcLast))
	} else {
		x = append(x, 0, 0, 0, never, 0)
	}
	x = append(x, share(w.fellow[v], 1), share(w.near[v], 3))
	for k := range keep {
		part := float32(0)
		if l != nil {
			part = l.weight[k] * float32(math.Pow(keep[k], float64(w.of.actions-l.when)))
		}
		x = append(x, share(part, w.of.weight[k]))
	}
	return x
}

// lastGroup appends how large the source's latest groups were: its own, and the one that it was a destination of.
func (w *View) lastGroup(x []float32) []float32 {
	if w.of.srcCount > 0 {
		g := w.c.bundles[w.of.group]
		x = append(x, often(int(g.to-g.from)), often(len(w.of.same)))
	} else {
		x = append(x, 0, 0)
	}
	if id := w.of.inbox[0]; id > 0 {
		g, unmet := w.c.bundles[id-1], 0
		list := w.c.nodes[g.src].own[g.from:min(g.to, g.from+crowded)]
		for _, v := range list {
			unmet += int(flag(!w.Met(v)))
		}
		return append(x, often(int(g.to-g.from)), w.age(g.at), float32(unmet)/float32(len(list)), often(unmet))
	}
	return append(x, 0, never, 0, 0)
}
