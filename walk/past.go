package walk

import (
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
	work  [2][]event.Node

	asked   event.Time // the latest time that was asked about
	changes int        // how often an event came that is earlier
}

// snapshot is the state before an event, in order.
type snapshot struct {
	next  int
	state *State
}

// How much is kept for questions about the past: snapshots are so many at most, together about so large, and at first
// so many events apart. Whenever there is one too many every second is forgotten.
const (
	mostSnapshots = 16
	mostBytes     = 256 << 20
	firstEvery    = 1 << 12
)

// Over is the past of a log.
func Over(log *event.Log, o Options) *Past {
	return &Past{log: log, now: *NewState(o), every: firstEvery, asked: math.Inf(-1)}
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
	if i == 0 {
		p.now.clear()
		p.next = 0
		return
	}
	p.now.copy(p.kept[i-1].state)
	p.next = p.kept[i-1].next
}

// Grow goes on with a log that continues the one so far.
func (p *Past) Grow(log *event.Log) { p.log = log }

// take puts events in order that have come to the log.
func (p *Past) take() {
	all := p.log.All()
	for i := p.taken; i < all.Len(); i++ {
		p.out.note(all.Edge(i), all.Src[i], all.Len())
		t := all.Time[i]
		if t < p.asked {
			p.changes++
		}
		if known := p.known(); known > 0 && t <= p.time(known-1) {
			p.forget(t)
		}
		if p.taken == 0 || p.time(p.taken-1) <= t {
			p.insert(p.taken, i)
		} else {
			p.insert(sort.Search(p.taken, func(k int) bool { return p.time(k) > t }), i)
		}
	}
}

// known is how many events, in order, the latest state that is kept knows.
func (p *Past) known() int {
	if n := len(p.kept); n > 0 {
		return max(p.next, p.kept[n-1].next)
	}
	return p.next
}

// insert gives an event of the log its place in order.
func (p *Past) insert(k, i int) {
	if p.order == nil && k < p.taken {
		p.order = make([]int32, p.taken)
		for j := range p.order {
			p.order[j] = int32(j)
		}
	}
	if p.order != nil {
		p.order = slices.Insert(p.order, k, int32(i))
	}
	p.taken++
}

// forget goes back to before a time and keeps no snapshot from then on.
func (p *Past) forget(t event.Time) {
	first := p.earlier(t)
	p.kept = slices.DeleteFunc(p.kept, func(s snapshot) bool { return s.next > first })
	if p.next > first {
		p.rewind(first)
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
