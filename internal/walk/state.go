package walk

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/dygmamba/dygmamba/event"
)

// State is what is known of all nodes after some events. It belongs to one goroutine.
//
// Events are first recorded and then applied by several threads: who takes part, and who did what last, is known at
// once; vectors and counts follow when Run is called. The number of threads changes no bit, as each number is computed
// by one of them, in the order of events.
type State struct {
	options Options
	limits  limits
	rates   [Scales]float64
	copied  int  // bytes of pages that other states have too
	lent    bool // others than one past have it: only the garbage collector knows when it is not needed any more

	*arrays
	places int // that were given to nodes
	frees  int // of these can be given again

	program program
	group   []meeting // events of the instant that is being recorded
	work    []activity
}

// arrays are all that a state holds in pages. They go back to their pools when nobody can reach the state any more.
type arrays struct {
	slots  paged[int32]   // by node id: 1 + the node's place, 0 for one that never occurred
	nodes  paged[node]    // by place
	rows   paged[float32] // by place: [Vectors, Dim], each as of the node's time
	free   paged[int32]   // places that can be given again
	counts table

	released atomic.Bool
}

// node is what is kept of a node beside its vectors.
type node struct {
	key          uint64
	latest       latest     // whom it met
	at           event.Time // of its vectors: its last event
	any, out, in account    // in any role, as a source, as a destination
	id           event.Node
}

// nodeBytes is what a node takes beside its vectors.
const nodeBytes = int(unsafe.Sizeof(node{}))

// meeting is an event by the places of its nodes.
type meeting struct{ src, dst int32 }

// NewState is the state before the first event.
func NewState(o Options) *State {
	s := &State{options: o, limits: o.limits(), rates: o.Rates(), arrays: &arrays{slots: newPaged[int32](1, 4),
		free: newPaged[int32](1, 4), nodes: newPaged[node](1, nodeBytes),
		rows: newPaged[float32](o.Width(), 4*o.Width())}}
	for i := range s.counts {
		s.counts[i].most = s.limits.slots
	}
	runtime.AddCleanup(s, (*arrays).release, s.arrays)
	return s
}

// release empties all. The garbage collector may find that nobody can reach the state while that is being done.
func (a *arrays) release() {
	if a.released.Swap(true) {
		return
	}
	a.slots.release()
	a.nodes.release()
	a.rows.release()
	a.free.release()
	for i := range a.counts {
		a.counts[i].slots.release()
	}
}

// share has to be called before copies are made of what is written to.
func (a *arrays) share() {
	a.slots.share()
	a.nodes.share()
	a.rows.share()
	a.free.share()
	for i := range a.counts {
		a.counts[i].slots.share()
	}
}

// settle lets go of pages that were copied since, when nothing that was recorded reads them any more.
func (a *arrays) settle() {
	a.slots.settle()
	a.nodes.settle()
	a.rows.settle()
	a.free.settle()
}

// Apply takes over the events of one instant, which is later than all before: who met whom, in any order.
func (s *State) Apply(t event.Time, src, dst []event.Node) {
	s.Record(t, src, dst)
	s.Run(1)
}

// Record notes the events of one instant, which is later than all before. Vectors and counts follow with Run.
func (s *State) Record(t event.Time, src, dst []event.Node) {
	s.group = s.group[:0]
	src, dst = s.makeRoom(src, dst)
	for i := range src {
		u, v := s.place(src[i]), s.place(dst[i])
		if u < 0 || v < 0 { // more nodes in one instant than the budget has room for
			continue
		}
		s.group = append(s.group, meeting{u, v})
		s.count(t, u, v)
	}
	slices.SortFunc(s.group, s.compare)
	if s.options.Follow {
		s.follow(t)
	}
	p := &s.program
	for _, m := range s.group {
		s.decay(m.src, t)
		s.decay(m.dst, t)
	}
	for _, m := range s.group {
		p.meetings = append(p.meetings, rowPair{s.rows.at(m.src), s.rows.at(m.dst), m.src == m.dst})
	}
	p.turns = append(p.turns, turn{len(p.decays), len(p.meetings)})
}

// Row is the node's row of vectors, H⁰ and then scale by scale, and the time they are of: at a later t a vector of
// level l has decayed by e^(−rate·l·(t−at)). It is nil for a node without events. Do not modify it; the next event may.
func (s *State) Row(n event.Node) (row []float32, at event.Time) {
	i := s.find(n)
	if i < 0 {
		return nil, 0
	}
	return s.rows.at(i), s.node(i).at
}

// CopyRow notes that the node's row, as it is after what was recorded so far, is to be copied.
func (s *State) CopyRow(n event.Node, to []float32) {
	row, _ := s.Row(n)
	if row == nil {
		s.Begin(n, to)
		return
	}
	s.program.copies = append(s.program.copies, rowCopy{len(s.program.turns), row, to})
}

// Begin fills a row of the same form for a node without events: H⁰, and zeros.
func (s *State) Begin(n event.Node, row []float32) {
	s.options.begin(s.key(n), row[:s.options.Dim])
	clear(row[s.options.Dim:])
}

// Activity is what u and v have done so far, for a query about u→v: in any role, u as a source, v as a destination, the
// pair in either direction. Options.Roles makes numbers of it.
func (s *State) Activity(u, v event.Node) (a Activity) {
	s.ReadActivity(u, v, &a)
	s.Run(1)
	return a
}

// ReadActivity notes that Activity is to be written to a, as it is after what was recorded so far.
func (s *State) ReadActivity(u, v event.Node, a *Activity) {
	*a = Activity{}
	p := &s.program
	if i := s.find(u); i >= 0 {
		p.readRole(i, roleAny, &a[0])
		p.readRole(i, roleOut, &a[2])
	}
	if i := s.find(v); i >= 0 {
		p.readRole(i, roleAny, &a[1])
		p.readRole(i, roleIn, &a[3])
	}
	x, y := s.key(u), s.key(v)
	p.read(keyOf(pairKey, x, y), &a[4])
	p.read(keyOf(pairKey, y, x), &a[5])
}

// count counts an event in all its roles. A loop is one event of its node.
func (s *State) count(t event.Time, u, v int32) {
	p := &s.program
	p.roles = append(p.roles, roleOp{place: u, role: roleAny, t: t}, roleOp{place: u, role: roleOut, t: t},
		roleOp{place: v, role: roleIn, t: t})
	if u != v {
		p.roles = append(p.roles, roleOp{place: v, role: roleAny, t: t})
	}
	p.add(keyOf(pairKey, s.node(u).key, s.node(v).key), t)
}

// compare orders events of an instant by who takes part. Nodes that share a key, which hardly happens, stand in the
// order of their numbers' places.
func (s *State) compare(a, b meeting) int {
	if a == b {
		return 0
	}
	return cmp.Or(cmp.Compare(s.node(a.src).key, s.node(b.src).key),
		cmp.Compare(s.node(a.dst).key, s.node(b.dst).key), cmp.Compare(a.src, b.src), cmp.Compare(a.dst, b.dst))
}

// decay notes that a node's vectors are to be brought to a time.
func (s *State) decay(i int32, t event.Time) {
	n := s.node(i)
	if n.at == t {
		return
	}
	row, copied := s.rows.own(i)
	s.copied += 4 * copied
	if since := t - n.at; !math.IsInf(since, 1) {
		s.program.decays = append(s.program.decays, decay{row, since})
	}
	n.at = t
}

// node is the node of a place, which place, or begin, has made this state's own.
func (s *State) node(i int32) *node { return &s.nodes.at(i)[0] }

// find is the place of a node, −1 if it never occurred.
func (s *State) find(n event.Node) int32 {
	if n < 0 || !s.slots.has(n) {
		return -1
	}
	return s.slots.at(n)[0] - 1
}

// key is who a node is.
func (s *State) key(n event.Node) uint64 {
	if i := s.find(n); i >= 0 {
		return s.node(i).key
	}
	return s.options.key(n)
}

// place is that of a node, to be written. It gets one if it has none; −1: there is no room.
func (s *State) place(n event.Node) int32 {
	if i := s.find(n); i >= 0 {
		_, copied := s.nodes.own(i)
		s.copied += nodeBytes * copied
		return i
	}
	i := int32(s.places)
	switch {
	case s.frees > 0:
		s.frees--
		i = s.free.at(int32(s.frees))[0]
	case s.limits.nodes > 0 && s.places >= s.limits.nodes:
		return -1
	default:
		s.places++
	}
	slot, _ := s.slots.own(n)
	slot[0] = i + 1
	own, copied := s.nodes.own(i)
	row, more := s.rows.own(i)
	s.copied += nodeBytes*copied + 4*more
	own[0] = node{key: s.options.key(n), id: n, latest: nobodyYet, at: math.Inf(-1)}
	s.options.begin(own[0].key, row[:s.options.Dim])
	clear(row[s.options.Dim:])
	return i
}

// makeRoom forgets nodes where those of an instant might be too many, and says in which order the events are to be
// taken: where there is no room for all, in one that does not depend on when they arrived.
func (s *State) makeRoom(src, dst []event.Node) (_, _ []event.Node) {
	room := s.limits.nodes - s.places + s.frees
	if s.limits.nodes == 0 || 2*len(src) <= room {
		return src, dst
	}
	s.Run(1) // what was recorded is about the nodes that are there
	s.dropNodes(src, dst)
	order := make([]int, len(src))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(s.key(src[i]), s.key(src[j])), cmp.Compare(s.key(dst[i]), s.key(dst[j])))
	})
	a, b := make([]event.Node, len(src)), make([]event.Node, len(src))
	for k, i := range order {
		a[k], b[k] = src[i], dst[i]
	}
	return a, b
}

// dropNodes forgets the half of the nodes that were active least lately, but none of these.
func (s *State) dropNodes(but ...[]event.Node) {
	stay := map[int32]bool{}
	for _, list := range but {
		for _, n := range list {
			stay[s.find(n)] = true
		}
	}
	s.work = s.work[:0]
	for i := range int32(s.places) {
		if n := s.node(i); n.id > 0 && !stay[i] {
			s.work = append(s.work, activity{n.at, n.key, i})
		}
	}
	half := (len(s.work) + 1) / 2
	earliest(s.work, half)
	slices.SortFunc(s.work[:half], func(a, b activity) int { return cmp.Compare(a.place, b.place) })
	for _, a := range s.work[:half] {
		slot, _ := s.slots.own(s.node(a.place).id)
		slot[0] = 0
		own, copied := s.nodes.own(a.place)
		s.copied += nodeBytes * copied
		own[0] = node{}
		s.release(a.place)
	}
}

// release lets a place be given again.
func (s *State) release(place int32) {
	at, _ := s.free.own(int32(s.frees))
	at[0] = place
	s.frees++
}

// activity is when the node of a place was active last.
type activity struct {
	at    event.Time
	key   uint64
	place int32
}

func (a activity) before(b activity) bool {
	return a.at < b.at || a.at == b.at && (a.key < b.key || a.key == b.key && a.place < b.place)
}

// earliest moves the first n in order to the front, in any order.
func earliest(list []activity, n int) {
	for lo, hi := 0, len(list)-1; lo < hi; {
		a, b, c := list[lo], list[(lo+hi)/2], list[hi]
		if b.before(a) {
			a, b = b, a
		}
		pivot := b // the middle one of three
		if c.before(a) {
			pivot = a
		} else if c.before(b) {
			pivot = c
		}
		i, j := lo, hi
		for i <= j {
			for list[i].before(pivot) {
				i++
			}
			for pivot.before(list[j]) {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n-1 <= j:
			hi = j
		case n-1 >= i:
			lo = i
		default:
			return
		}
	}
}

// clone is the same state. The two share pages until one of them writes.
func (s *State) clone() *State {
	s.Run(1)
	s.share()
	return s.copy()
}

// copy is the same as a state that nobody writes to any more, and to which nothing was recorded. Several goroutines may
// call it.
func (s *State) copy() *State {
	c := &State{options: s.options, limits: s.limits, rates: s.rates, places: s.places, frees: s.frees,
		arrays: &arrays{slots: s.slots.clone(), nodes: s.nodes.clone(), rows: s.rows.clone(), free: s.free.clone(),
			counts: s.counts.clone()}}
	runtime.AddCleanup(c, (*arrays).release, c.arrays)
	runtime.KeepAlive(s)
	return c
}

// takeCopied is how many bytes of pages were copied since it was asked last, as another state has them too.
func (s *State) takeCopied() int {
	n := s.copied
	s.copied = 0
	for i := range s.counts {
		n += s.counts[i].copied * entryBytes
		s.counts[i].copied = 0
	}
	return n
}

// bytes is what the state takes.
func (s *State) bytes() int {
	return 4*s.rows.count + nodeBytes*s.nodes.count + s.counts.bytes() + 4*s.slots.count
}
