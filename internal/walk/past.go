package walk

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/dygmamba/dygmamba/event"
)

// Past is the states of a log at any time. Asked about ascending times it goes through the events once; asked about an
// earlier one it goes on from the nearest of a bounded number of snapshots. The log may grow, also by late events.
//
// It belongs to one goroutine.
type Past struct {
	log   *event.Log
	taken int     // events of the log that are in order
	order []int32 // positions in the log by time; nil where that is the order of the log
	out   sources

	now   State
	next  int        // the first event, in order, that now does not know
	kept  []snapshot // ascending, each later than nothing at all
	every int        // events between two of them
	near  snapshot   // one more, shortly before where late events come
	close int        // events that are gone through again rather than taking a nearer one
	mark  int        // where to take that one on the way; 0: nowhere
	work  [2][]event.Node

	asked   event.Time // the latest time that was asked about
	changes int        // how often an event came that is earlier
}

// snapshot is the state before an event, in order.
type snapshot struct {
	next  int
	state *State
}

// How much is kept for questions about the past: snapshots are this many at most, together about so large, and at first
// this many events apart. Whenever there is one too many every second is forgotten. One more is taken where late events
// would otherwise make it go through more than this many events again.
const (
	mostSnapshots = 16
	mostBytes     = 256 << 20
	firstEvery    = 1 << 12
	firstClose    = 1 << 10
)

// Over is the past of a log.
func Over(log *event.Log, o Options) *Past {
	return &Past{log: log, now: *NewState(o), every: firstEvery, close: firstClose, asked: math.Inf(-1)}
}

// Options are those of its states.
func (p *Past) Options() Options { return p.now.options }

// At is the state of all events strictly before t, until the next call.
func (p *Past) At(t event.Time) *State {
	want := p.Count(t)
	if want < p.next {
		p.rewind(want)
	}
	for p.next < want {
		p.Step()
	}
	return &p.now
}

// Count is the number of events strictly before t.
func (p *Past) Count(t event.Time) int {
	p.take()
	p.asked = max(p.asked, t)
	return p.earlier(t)
}

// earlier is the number of events in order that are strictly before t.
func (p *Past) earlier(t event.Time) int {
	return sort.Search(p.taken, func(k int) bool { return p.time(k) >= t })
}

// Meeting is an event k in order of time, of those that Count counts.
func (p *Past) Meeting(k int) (src, dst event.Node, t event.Time) {
	all, i := p.log.All(), p.at(k)
	return all.Src[i], all.Dst[i], all.Time[i]
}

// Changes is how many events came after a later time had been asked about: what was told then may since be wrong.
func (p *Past) Changes() int { return p.changes }

// Sent says whether a node is the source of an event that has happened.
func (p *Past) Sent(n event.Node, e event.Edge) bool { return p.out.of(e) == n }

// Step lets the state go on by the events of the next instant.
func (p *Past) Step() {
	all, t := p.log.All(), p.time(p.next)
	src, dst := p.work[0][:0], p.work[1][:0]
	for p.next < p.taken && p.time(p.next) == t {
		i := p.at(p.next)
		src, dst = append(src, all.Src[i]), append(dst, all.Dst[i])
		p.next++
	}
	p.work = [2][]event.Node{src, dst}
	p.now.Apply(t, src, dst)
	last := 0
	if n := len(p.kept); n > 0 {
		last = p.kept[n-1].next
	}
	if p.next-last >= p.every {
		p.keep()
	}
	if p.mark > 0 && p.next >= p.mark {
		p.keepNear()
	}
}

// keepNear takes the snapshot for the next late event.
func (p *Past) keepNear() {
	if p.near.state == nil {
		p.near.state = new(State)
	}
	p.near.state.copy(&p.now)
	p.near.next, p.mark = p.next, 0
}

// keep takes a snapshot.
func (p *Past) keep() {
	s := new(State)
	s.copy(&p.now)
	p.kept = append(p.kept, snapshot{p.next, s})
	for len(p.kept) > max(2, min(mostSnapshots, mostBytes/max(1, s.bytes()))) {
		p.every *= 2
		fewer := p.kept[:0]
		for i, k := range p.kept {
			if i%2 == 1 {
				fewer = append(fewer, k)
			}
		}
		clear(p.kept[len(fewer):])
		p.kept = fewer
	}
}

// rewind goes back to the last snapshot that knows at most the first events.
func (p *Past) rewind(events int) {
	i := sort.Search(len(p.kept), func(i int) bool { return p.kept[i].next > events })
	var last snapshot
	if i > 0 {
		last = p.kept[i-1]
	}
	if p.near.next > last.next && p.near.next <= events {
		last = p.near
	}
	p.next = last.next
	if last.next == 0 {
		p.now.clear()
		return
	}
	p.now.copy(last.state)
}

// Grow goes on with a log that continues the one so far.
func (p *Past) Grow(log *event.Log) { p.log = log }

// take puts events in order that have come to the log, all of them at once.
func (p *Past) take() {
	all := p.log.All()
	if p.taken == all.Len() {
		return
	}
	first := math.Inf(1)
	for i := p.taken; i < all.Len(); i++ {
		p.out.note(all.Edge(i), all.Src[i], all.Len())
		t := all.Time[i]
		first = min(first, t)
		if t < p.asked {
			p.changes++
		}
	}
	if known := p.known(); known > 0 && first <= p.time(known-1) {
		p.forget(first)
	}
	if p.order == nil && slices.IsSorted(all.Time[max(0, p.taken-1):]) {
		p.taken = all.Len()
		return
	}
	p.insert(all.Time)
}

// known is how many events, in order, the latest state that is kept knows.
func (p *Past) known() int {
	known := max(p.next, p.near.next)
	if n := len(p.kept); n > 0 {
		known = max(known, p.kept[n-1].next)
	}
	return known
}

// insert gives the new ones of all events their places in order: after those that are not later.
func (p *Past) insert(times []event.Time) {
	for i := len(p.order); i < p.taken; i++ {
		p.order = append(p.order, int32(i))
	}
	old := p.taken
	late := make([]int32, len(times)-old)
	for k := range late {
		late[k] = int32(old + k)
	}
	slices.SortStableFunc(late, func(i, j int32) int { return cmp.Compare(times[i], times[j]) })
	p.order = append(p.order, late...)
	for k := len(late) - 1; k >= 0; k-- { // from the latest on, so that each event is moved once
		at := sort.Search(old, func(j int) bool { return times[p.order[j]] > times[late[k]] })
		copy(p.order[at+k+1:], p.order[at:old])
		p.order[at+k] = late[k]
		old = at
	}
	p.taken = len(times)
}

// forget goes back to before a time and keeps no snapshot from then on. Where that is far, one is taken on the way
// back, for the next event that is up to twice as late.
func (p *Past) forget(t event.Time) {
	first := p.earlier(t)
	p.kept = slices.DeleteFunc(p.kept, func(s snapshot) bool { return s.next > first })
	if p.near.next > first {
		p.near.next = 0
	}
	if p.next > first {
		p.rewind(first)
	}
	p.mark = 0
	if at := 2*first - p.taken; at-p.next > p.close {
		p.mark = at
	}
}

// at is the position in the log of the k-th event in order.
func (p *Past) at(k int) int {
	if p.order == nil {
		return k
	}
	return int(p.order[k])
}

func (p *Past) time(k int) event.Time { return p.log.All().Time[p.at(k)] }

// sources are those of events by edge id: a table while ids are about as many as events, which is usual.
type sources struct {
	table []event.Node
	far   map[event.Edge]event.Node
}

// note enters an event; of several with one id the first counts.
func (s *sources) note(e event.Edge, src event.Node, events int) {
	if int(e) > 4*events+1024 {
		if s.far == nil {
			s.far = map[event.Edge]event.Node{}
		}
		if _, there := s.far[e]; !there {
			s.far[e] = src
		}
		return
	}
	if more := int(e) + 1 - len(s.table); more > 0 {
		s.table = append(s.table, make([]event.Node, more)...)
	}
	if s.table[e] == 0 {
		s.table[e] = src
	}
}

func (s *sources) of(e event.Edge) event.Node {
	if e >= 0 && int(e) < len(s.table) && s.table[e] != 0 {
		return s.table[e]
	}
	return s.far[e]
}
