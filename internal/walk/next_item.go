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

// latest are the partners of a node's latest two events, the last first: their ids and their keys.
type latest struct {
	ids  [2]event.Node
	keys [2]uint64
}

// What stands in a key for something that is not a node.
const (
	nobody  uint64 = 0xd1b54a32d192ed03 + iota // came before a node's first partner
	anyone                                     // came next
	whoever                                    // came before the last: it does not matter
	pairKey                                    // the key is that of a pair
	inTime                                     // nor does it here, but how long ago the last was; + 1 for longer times
)

// nobodyYet is what a node has met before its first event.
var nobodyYet = latest{[2]event.Node{-1, -1}, [2]uint64{nobody, nobody}}

// NextItem is what has followed so far upon what u did last, for a query about u→v at t. Options.NextItems makes
// numbers of it.
func (s *State) NextItem(u, v event.Node, t event.Time) (a NextItem) {
	s.ReadNextItem(u, v, t, &a)
	s.Run(1)
	return a
}

// ReadNextItem notes that NextItem is to be written to a, as it is after what was recorded so far.
func (s *State) ReadNextItem(u, v event.Node, t event.Time, a *NextItem) {
	*a = NextItem{}
	had, since, next := nobodyYet, forever, s.key(v)
	if i := s.find(u); i >= 0 {
		had, since = s.node(i).latest, s.since(i, t)
	}
	for i, before := range had.ways(since) {
		if v >= 0 {
			s.program.read(keyOf(before, had.keys[0], next), &a[2*i])
		}
		s.program.read(keyOf(before, had.keys[0], anyone), &a[2*i+1])
	}
}

// Latest are the partners of a node's latest two events, the last first, and negative where there were none. Who they
// are is kept with Options.Follow.
func (s *State) Latest(n event.Node) [2]event.Node {
	if i := s.find(n); i >= 0 {
		return s.node(i).latest.ids
	}
	return nobodyYet.ids
}

// follow counts what the events of an instant follow upon, none of them another, and then lets later ones follow them.
func (s *State) follow(t event.Time) {
	for _, m := range s.group {
		u, next := s.node(m.src), s.node(m.dst).key
		for _, before := range u.latest.ways(s.since(m.src, t)) {
			s.program.add(keyOf(before, u.latest.keys[0], next), t)
			s.program.add(keyOf(before, u.latest.keys[0], anyone), t)
		}
	}
	for _, m := range s.group {
		u, v := s.node(m.src), s.node(m.dst)
		u.latest.met(v)
		if u != v {
			v.latest.met(u)
		}
	}
}

// met is called for each partner, in order.
func (l *latest) met(n *node) {
	l.ids, l.keys = [2]event.Node{n.id, l.ids[0]}, [2]uint64{n.key, l.keys[0]}
}

// ways are those to look back: what stands for the last but one in each.
func (l *latest) ways(since uint64) [nextItemKinds / 2]uint64 {
	return [...]uint64{whoever, l.keys[1], inTime + since}
}

// forever is how long ago something was that never was.
const forever uint64 = 6

// since is how long ago a node was last active: as many digits as that time has in hundred-thousandths of the span.
func (s *State) since(i int32, t event.Time) (digits uint64) {
	ago, unit := t-s.node(i).at, 1e-5*s.options.span()
	for ; digits < forever && ago >= unit; digits++ {
		unit *= 10
	}
	return digits
}
