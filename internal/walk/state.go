package walk

import (
	"cmp"
	"math"
	"slices"

	"github.com/dygmamba/dygmamba/event"
)

// State is what is known of all nodes after some events. It belongs to one goroutine.
type State struct {
	options Options
	rates   [Scales]float64
	slots   []int32 // by node id: 1 + the node's place, 0 for one that never occurred
	nodes   []node
	vectors []float32 // [nodes, Vectors, Dim], each as of the node's time
	pairs   ledger[pair]
	after   ledger[nextItem]
	group   []meeting // events of the instant that is being applied
}

// node is what is kept of a node beside its vectors.
type node struct {
	key          uint64
	id           event.Node
	latest       latest     // whom it met
	at           event.Time // of its vectors: its last event
	any, out, in account    // in any role, as a source, as a destination
}

// pair is a directed one, by id.
type pair struct{ src, dst event.Node }

// meeting is an event by the places of its nodes.
type meeting struct{ src, dst int32 }

// NewState is the state before the first event.
func NewState(o Options) *State {
	return &State{options: o, rates: o.Rates(), pairs: newLedger[pair](), after: newLedger[nextItem]()}
}

// Apply takes over the events of one instant, which is later than all before: who met whom, in any order.
func (s *State) Apply(t event.Time, src, dst []event.Node) {
	s.group = s.group[:0]
	for i := range src {
		u, v := s.place(src[i]), s.place(dst[i])
		s.group = append(s.group, meeting{u, v})
		s.count(t, u, v, pair{src[i], dst[i]})
	}
	slices.SortFunc(s.group, s.compare)
	if s.options.Follow {
		s.follow(t)
	}
	for _, m := range s.group {
		s.decay(m.src, t)
		s.decay(m.dst, t)
	}
	// The longest walks first: whatever is read has not been written yet.
	for level := Levels; level > 0; level-- {
		for _, m := range s.group {
			s.extend(m.src, m.dst, level)
			if m.src != m.dst {
				s.extend(m.dst, m.src, level)
			}
		}
	}
}

// Row is the node's row of vectors, H⁰ and then scale by scale, and the time they are of: at a later t a vector of
// level l has decayed by e^(−rate·l·(t−at)). It is nil for a node without events. Do not modify it; the next event may.
func (s *State) Row(n event.Node) (row []float32, at event.Time) {
	i := s.find(n)
	if i < 0 {
		return nil, 0
	}
	return s.row(i), s.nodes[i].at
}

// Begin fills a row of the same form for a node without events: H⁰, and zeros.
func (s *State) Begin(n event.Node, row []float32) {
	s.options.begin(s.options.key(n), row[:s.options.Dim])
	clear(row[s.options.Dim:])
}

// Activity is what u and v have done so far, for a query about u→v: in any role, u as a source, v as a destination, the
// pair in either direction. Options.Roles makes numbers of it.
func (s *State) Activity(u, v event.Node) (a Activity) {
	if i := s.find(u); i >= 0 {
		a[0], a[2] = s.nodes[i].any, s.nodes[i].out
	}
	if i := s.find(v); i >= 0 {
		a[1], a[3] = s.nodes[i].any, s.nodes[i].in
	}
	a[4], a[5] = s.pairs.of(pair{u, v}), s.pairs.of(pair{v, u})
	return a
}

// count counts an event in all its roles. A loop is one event of its node.
func (s *State) count(t event.Time, u, v int32, p pair) {
	s.nodes[u].any.add(t, &s.rates)
	s.nodes[u].out.add(t, &s.rates)
	if u != v {
		s.nodes[v].any.add(t, &s.rates)
	}
	s.nodes[v].in.add(t, &s.rates)
	s.pairs.add(p, t, &s.rates)
}

// compare orders events of an instant by who takes part. Nodes that share a key, which hardly happens, stand in the
// order of their numbers' places.
func (s *State) compare(a, b meeting) int {
	return cmp.Or(cmp.Compare(s.nodes[a.src].key, s.nodes[b.src].key),
		cmp.Compare(s.nodes[a.dst].key, s.nodes[b.dst].key), cmp.Compare(a.src, b.src), cmp.Compare(a.dst, b.dst))
}

// decay brings a node's vectors to a time.
func (s *State) decay(i int32, t event.Time) {
	n := &s.nodes[i]
	if n.at == t {
		return
	}
	row, d := s.row(i)[s.options.Dim:], s.options.Dim
	for _, rate := range s.rates {
		once := math.Exp(-rate * (t - n.at))
		for factor := once; len(row) > 0; factor *= once {
			scale(row[:d], float32(factor))
			row = row[d:]
			if len(row)%(Levels*d) == 0 {
				break
			}
		}
	}
	n.at = t
}

// extend adds the walks of level−1 steps from other to those of level steps from i.
func (s *State) extend(i, other int32, level int) {
	d, to, from := s.options.Dim, s.row(i), s.row(other)
	for s := range Scales {
		at := (s*Levels + level) * d
		before := at - d
		if level == 1 {
			before = 0
		}
		add(to[at:at+d], from[before:before+d])
	}
}

func (s *State) row(i int32) []float32 {
	width := s.options.Width()
	at := int(i) * width
	return s.vectors[at : at+width : at+width]
}

// find is the place of a node, −1 if it never occurred.
func (s *State) find(n event.Node) int32 {
	if n < 0 || int(n) >= len(s.slots) {
		return -1
	}
	return s.slots[n] - 1
}

// place is that of a node, which gets one if it has none.
func (s *State) place(n event.Node) int32 {
	if i := s.find(n); i >= 0 {
		return i
	}
	if more := int(n) + 1 - len(s.slots); more > 0 {
		s.slots = append(s.slots, make([]int32, more)...)
	}
	i := int32(len(s.nodes))
	s.slots[n] = i + 1
	s.nodes = append(s.nodes, node{key: s.options.key(n), id: n, latest: latest{nobody, nobody}, at: math.Inf(-1)})
	s.vectors = slices.Grow(s.vectors, s.options.Width())[:len(s.vectors)+s.options.Width()]
	row := s.row(i)
	s.options.begin(s.nodes[i].key, row[:s.options.Dim])
	clear(row[s.options.Dim:])
	return i
}

// clear makes s the state before the first event, in the memory it has.
func (s *State) clear() {
	s.slots, s.nodes, s.vectors = s.slots[:0], s.nodes[:0], s.vectors[:0]
	s.pairs.clear()
	s.after.clear()
}

// copy makes s the same as from, in the memory it has.
func (s *State) copy(from *State) {
	s.options, s.rates = from.options, from.rates
	s.slots = append(s.slots[:0], from.slots...)
	s.nodes = append(s.nodes[:0], from.nodes...)
	s.vectors = append(s.vectors[:0], from.vectors...)
	s.pairs.copy(&from.pairs)
	s.after.copy(&from.after)
}

// bytes is about what the state takes.
func (s *State) bytes() int {
	const account, node = 24 + 8, 3*32 + 32
	return 4*len(s.vectors) + node*len(s.nodes) + account*(len(s.pairs.accounts)+len(s.after.accounts)) + 4*len(s.slots)
}
