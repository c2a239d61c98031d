package next

import (
	"math"

	"github.com/dygmamba/dygmamba/event"
)

// Group is one of the three kinds of what a source can do next.
type Group uint8

// The groups. A destination that was seen before belongs to one of the first two.
const (
	Returning Group = iota // someone it has met, in either direction
	First                  // someone it has not met, who has been a destination
	New                    // someone who has never been a destination
	Groups    = 3
)

// View is a source at a time, and what all its candidates have in common. It is valid until an event is added.
type View struct {
	c            *Counts
	src          event.Node
	at           event.Time
	of           *actor
	sent         [scales]float32 // its events as a source,
	received     [scales]float32 // and as a destination
	total        [scales]float32 // all events
	place        map[event.Node]int
	follow       map[event.Node]float32
	common       map[event.Node]float32
	heard        map[event.Node]heard
	fellow, near map[event.Node]float32
	lately       profiles
	self         *profiles
	pool         []scored
	inPool       map[event.Node]int32
}

// At looks at a source at a time that no event counted so far has reached. It may use the memory of an earlier view.
func (c *Counts) At(w *View, src event.Node, at event.Time) *View {
	if w == nil || w.place == nil {
		w = &View{place: map[event.Node]int{}, follow: map[event.Node]float32{}, common: map[event.Node]float32{},
			heard: map[event.Node]heard{}, fellow: map[event.Node]float32{}, near: map[event.Node]float32{}}
	}
	clear(w.place)
	clear(w.follow)
	clear(w.common)
	w.c, w.src, w.at, w.of = c, src, at, c.actor(src)
	w.sent, w.received, w.total = c.read(&w.of.src, at), c.read(&w.of.dst, at), c.read(&c.total, at)
	latest := w.of.latest[:min(recent, int(w.of.srcCount))]
	for i := len(latest) - 1; i >= 0; i-- {
		w.place[latest[i]] = i
	}
	for i, z := range latest {
		if w.place[z] == i {
			w.addFollowers(z, i)
		}
	}
	for _, x := range tail(w.of.partners, 16) {
		w.addCommon(x)
	}
	if c.setup.Together {
		w.lookTogether(latest)
	}
	if c.setup.Profiles {
		w.lookProfiles(latest)
	}
	return w
}

// tail is the last n of a list.
func tail(list []event.Node, n int) []event.Node { return list[max(0, len(list)-n):] }

// addFollowers adds what lately followed upon one of the source's latest destinations.
func (w *View) addFollowers(z event.Node, place int) {
	list := tail(w.c.nodes[z].followers, 64)
	for _, v := range list {
		w.follow[v] += 1 / float32(len(list)*(1+place))
	}
}

// addCommon adds the partners of a partner, which count less the more it has.
func (w *View) addCommon(x event.Node) {
	list := w.c.nodes[x].partners
	weight := float32(1 / math.Log(2+float64(len(list))))
	for _, v := range tail(list, 32) {
		w.common[v] += weight
	}
}

// Width is the number of features of a candidate.
func (w *View) Width() int { return w.c.width }

// Met says whether the source and a destination have an event, in either direction.
func (w *View) Met(v event.Node) bool { return w.c.Met(w.src, v) }

// Facts are what is known of a source and a destination, for people.
type Facts struct {
	Sent     int        // events from the source to the destination
	Received int        // and back
	Last     event.Time // the last of these; −Inf where there is none
	Source   int        // events of the source as one
	Taken    int        // events of the destination as one, whoever was the source
}

// Facts of a destination.
func (w *View) Facts(v event.Node) Facts {
	f := Facts{Last: math.Inf(-1), Source: int(w.of.srcCount), Taken: int(w.c.actor(v).dstCount)}
	if l := w.c.links[pairOf(w.src, v)]; l != nil {
		f.Sent, f.Last = int(l.count), l.last
	}
	if l := w.c.links[pairOf(v, w.src)]; l != nil && v != w.src {
		f.Received, f.Last = int(l.count), max(f.Last, l.last)
	}
	return f
}

// Usual is how often the source has chosen a destination, of all its events, with one more event that was chosen with
// a given probability.
func (f *Facts) Usual(share float64) float64 {
	return (float64(f.Sent) + share) / (float64(f.Source) + 1)
}

// GroupOf is the group of a destination.
func (w *View) GroupOf(v event.Node) Group {
	switch {
	case !w.c.Known(v):
		return New
	case w.Met(v):
		return Returning
	}
	return First
}

// Members appends all candidates of a group, in a fixed order. New has none that could be named.
func (w *View) Members(to []event.Node, g Group) []event.Node {
	switch g {
	case Returning:
		for _, v := range w.of.partners {
			if w.c.Known(v) {
				to = append(to, v)
			}
		}
	case First:
		for _, v := range w.c.dests {
			if !w.c.Met(w.src, v) {
				to = append(to, v)
			}
		}
	}
	return to
}

// Possible says which groups have candidates. Someone new is always possible.
func (w *View) Possible() [Groups]bool {
	met := 0
	for _, v := range w.of.partners {
		if w.c.Known(v) {
			met++
		}
	}
	return [Groups]bool{met > 0, len(w.c.dests) > met, true}
}
