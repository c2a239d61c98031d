package walk

import "github.com/dygmamba/dygmamba/event"

// NextItems is what a query about u→v at t is told of what usually comes next: how often, and when last, a source whose
// latest partner was that of u then met v, and anyone; the same for its latest two partners; and for its latest partner
// when as much time had passed since. RoleNumbers each.
const NextItems = nextItemKinds * RoleNumbers

// nextItemKinds is how many accounts that is: of v and of anyone, each for three ways to look back.
const nextItemKinds = 2 * 3

// NextItem is what State.NextItem tells of the two nodes of a query.
type NextItem [nextItemKinds]account

// Counts are how often the destination came next, and anyone: after the latest partner of the source, and after the
// latest two.
func (a *NextItem) Counts() (last, both [2]int) {
	return [2]int{int(a[0].count), int(a[1].count)}, [2]int{int(a[2].count), int(a[3].count)}
}

// NextItems writes what came next so far, as of a later t, NextItems numbers.
func (o Options) NextItems(a *NextItem, t event.Time, out []float32) {
	rates := o.Rates()
	for i := range a {
		a[i].write(out[i*RoleNumbers:], t, &o, &rates)
	}
}

// latest are the partners of a node's latest two events, the last first.
type latest [2]event.Node

// Who is not a node.
const (
	nobody  event.Node = -1 - iota // came before a node's first partner
	anyone                         // came next
	whoever                        // came before the last: it does not matter
	inTime                         // nor here, but how long ago the last was; and so on for longer times
)

// nextItem is a node that was met after others.
type nextItem struct{ before, last, next event.Node }

// NextItem is what has followed so far upon what u did last, for a query about u→v at t. Options.NextItems makes
// numbers of it.
func (s *State) NextItem(u, v event.Node, t event.Time) (a NextItem) {
	had, since := latest(s.Latest(u)), forever
	if i := s.find(u); i >= 0 {
		since = s.since(i, t)
	}
	for i, before := range had.ways(since) {
		if v >= 0 {
			a[2*i] = s.after.of(nextItem{before, had[0], v})
		}
		a[2*i+1] = s.after.of(nextItem{before, had[0], anyone})
	}
	return a
}

// Latest are the partners of a node's latest two events, the last first, and negative where there were none. Who they
// are is kept with Options.Follow.
func (s *State) Latest(n event.Node) [2]event.Node {
	if i := s.find(n); i >= 0 {
		return s.nodes[i].latest
	}
	return latest{nobody, nobody}
}

// follow counts what the events of an instant follow upon, none of them another, and then lets later ones follow them.
func (s *State) follow(t event.Time) {
	for _, m := range s.group {
		u := &s.nodes[m.src]
		for _, before := range u.latest.ways(s.since(m.src, t)) {
			s.after.add(nextItem{before, u.latest[0], s.nodes[m.dst].id}, t, &s.rates)
			s.after.add(nextItem{before, u.latest[0], anyone}, t, &s.rates)
		}
	}
	for _, m := range s.group {
		u, v := &s.nodes[m.src], &s.nodes[m.dst]
		u.latest = latest{v.id, u.latest[0]}
		if u != v {
			v.latest = latest{u.id, v.latest[0]}
		}
	}
}

// ways are those to look back: what stands for the last but one in each.
func (l latest) ways(since event.Node) [nextItemKinds / 2]event.Node {
	return [...]event.Node{whoever, l[1], inTime - since}
}

// forever is how long ago something was that never was.
const forever event.Node = 6

// since is how long ago a node was last active: as many digits as that time has in hundred-thousandths of the span.
func (s *State) since(i int32, t event.Time) (digits event.Node) {
	ago, unit := t-s.nodes[i].at, 1e-5*s.options.span()
	for ; digits < forever && ago >= unit; digits++ {
		unit *= 10
	}
	return digits
}
