package walk

import (
	"math"
	"runtime"
	"slices"
	"sort"

	"github.com/dygmamba/dygmamba/event"
)

// Past is the states of a log at any time. Asked about ascending times it goes through the events once; asked about an
// earlier one it goes on from the nearest of a bounded number of snapshots, or from where the window begins. The log
// may grow, also by late events.
//
// It belongs to one goroutine.
type Past struct {
	Threads int  // that compute; 0 is 1
	Live    bool // late events may come at any time: recent states are kept for them

	log     *event.Log
	options Options
	limits  limits
	*places

	now    segment
	next   int     // the first event, in order, that now does not know
	soon   segment // the one after now, on its way; its state may be nil
	soonAt int     // the first event that it does not know
	begins int     // where it begins; −1: not looked for yet

	kept   []snapshot // ascending, each later than nothing at all
	every  int        // events between two of them
	near   snapshot   // one more, shortly before where late events come
	recent []snapshot // of a live past: ascending, the latest a few thousand events ago at most
	copied int        // bytes of pages that were copied because a snapshot has them
	close  int        // events that are gone through again rather than taking a nearer one
	mark   int        // where to take that one on the way; 0: nowhere
	work   [2][]event.Node
	behind int // events that were recorded since the last Run

	asked   event.Time // the latest time that was asked about
	changes int        // how often an event came that is earlier
	steps   int        // events that were applied to states, all in all
}

// places are those of events. They go back to their pools when nobody can reach the past any more.
type places struct {
	order order // of the events of the log that were taken
	out   sources
}

func (p *places) release() {
	p.order.places.release()
	p.out.table.release()
}

// segment is the state of consecutive events: see limits.
type segment struct {
	number int
	state  *State
}

// release gives back what a state holds that is not needed any more. That takes some milliseconds, which nobody waits
// for.
func (s *segment) release() {
	if s.state != nil && !s.state.lent {
		go s.state.arrays.release()
	}
}

// together is the number of events that are recorded before they are applied.
const together = 1 << 11

// Over is the past of a log.
func Over(log *event.Log, o Options) *Past {
	if o.Key != nil {
		o.Key = remembered(log.NumNodes(), o.Key)
	}
	p := &Past{log: log, options: o, limits: o.limits(), every: firstEvery, close: firstClose,
		places: &places{newOrder(), newSources()}, asked: math.Inf(-1)}
	runtime.AddCleanup(p, (*places).release, p.places)
	p.begin(0)
	return p
}

// Options are those of its states.
func (p *Past) Options() Options { return p.options }

// At is the state of all events strictly before t, until the next call.
func (p *Past) At(t event.Time) *State {
	p.reach(p.Count(t))
	return p.now.state
}

// TimeOf is that of the event this many before the one that the state goes on with; −Inf: there is none.
func (p *Past) TimeOf(back int) event.Time {
	if at := min(p.next, p.order.n-1) - back; at >= 0 {
		return p.time(at)
	}
	return math.Inf(-1)
}

// reach makes now the state before an event, in order.
func (p *Past) reach(want int) {
	if want < p.next || p.now.number > p.number(want) || p.tooEarly(want) {
		p.rewind(want)
	}
	for p.next < want {
		p.Step()
	}
	p.Run()
}

// GoOn is At for the end of the log, by at most about this many events. It says how many are left.
func (p *Past) GoOn(most int) (left int) {
	want := p.Count(math.Inf(1))
	if p.tooEarly(want) {
		p.rewind(want)
	}
	for stop := p.next + most; p.next < min(want, stop); {
		p.Step()
	}
	p.Run()
	return want - p.next
}

// Run applies what was recorded.
func (p *Past) Run() {
	runAll(max(1, p.Threads), p.now.state, p.soon.state)
	p.behind = 0
	p.copied += p.now.state.takeCopied()
	if p.soon.state != nil {
		p.copied += p.soon.state.takeCopied()
	}
	for p.late() > p.room() {
		if len(p.recent) > 0 && (p.near.next == 0 || p.recent[0].next < p.near.next) {
			p.recent[0].release()
			p.recent = slices.Delete(p.recent, 0, 1)
		} else {
			p.near.release()
			p.near = snapshot{}
		}
	}
}

// number is that of the segment that tells the state before an event, in order.
func (p *Past) number(event int) int {
	if p.limits.warmUp == 0 {
		return 0
	}
	return event / p.limits.segment()
}

// base is the event that a segment's state begins with: an instant is never cut.
func (p *Past) base(number int) int {
	if number == 0 {
		return 0
	}
	return p.earlier(p.time(number*p.limits.segment() - p.limits.warmUp))
}

// tooEarly says whether to go on from where the state is takes longer than to begin with the window of an event.
func (p *Past) tooEarly(event int) bool {
	first := p.first(event)
	return p.now.number < first && p.next < p.base(first)
}

// first is the segment to begin with for the state before an event. A live past begins with the one before where the
// event is one of the first of its own: late events may make it go back to there.
func (p *Past) first(event int) int {
	number := p.number(event)
	if p.Live && number > 0 && event-number*p.limits.segment() < min(farRecent, p.limits.warmUp) {
		number--
	}
	return number
}

// begin makes now the state of a segment before its first event.
func (p *Past) begin(number int) {
	p.now.release()
	p.soon.release()
	p.now, p.soon = segment{number, NewState(p.options)}, segment{}
	p.next, p.begins = p.base(number), -1
}

// Count is the number of events strictly before t.
func (p *Past) Count(t event.Time) int {
	p.take()
	p.out.catchUp(p.log)
	p.asked = max(p.asked, t)
	return p.earlier(t)
}

// Segment tells apart the times whose states begin with different events: Count says how many are before them.
func (p *Past) Segment(count int) int { return p.number(count) }

// earlier is the number of events in order that are strictly before t.
func (p *Past) earlier(t event.Time) int {
	return sort.Search(p.order.n, func(k int) bool { return p.time(k) >= t })
}

// Meeting is an event k in order of time, of those that Count counts.
func (p *Past) Meeting(k int) (src, dst event.Node, t event.Time) {
	all, i := p.log.All(), p.order.at(k)
	return all.Src[i], all.Dst[i], all.Time[i]
}

// Changes is how many events came after a later time had been asked about: what was told then may since be wrong.
func (p *Past) Changes() int { return p.changes }

// Sent says whether a node is the source of an event that has happened.
func (p *Past) Sent(n event.Node, e event.Edge) bool { return p.out.of(e, p.log) == n }

// Step records the events of the next instant. Run applies them. Where the caller has states of its own to read, it
// knows that the instant is of the same segment.
func (p *Past) Step() {
	p.goOn()
	p.next = p.record(p.now.state, p.next)
	if p.behind >= together {
		p.Run()
	}
	if p.limits.warmUp > 0 && p.number(p.next) > p.now.number {
		p.turn()
	}
	if p.number(p.next) < p.now.number { // not yet the state that anyone asks for
		return
	}
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
	if p.Live {
		p.keepRecent()
	}
}

// record records the events of an instant, and says which event is the next.
func (p *Past) record(s *State, next int) int {
	all, t := p.log.All(), p.time(next)
	src, dst := p.work[0][:0], p.work[1][:0]
	for next < p.order.n && p.time(next) == t {
		i := p.order.at(next)
		src, dst = append(src, all.Src[i]), append(dst, all.Dst[i])
		next++
	}
	p.work = [2][]event.Node{src, dst}
	s.Record(t, src, dst)
	p.behind += len(src)
	p.steps += len(src)
	return next
}

// goOn lets the next segment's state follow, from where it begins on: up to two instants for one of now's, so that it
// catches up where it began late.
func (p *Past) goOn() {
	if p.limits.warmUp == 0 {
		return
	}
	if p.begins < 0 {
		at := (p.now.number+1)*p.limits.segment() - p.limits.warmUp
		if at >= p.order.n {
			return
		}
		p.begins = p.base(p.now.number + 1)
	}
	if p.next <= p.begins {
		return
	}
	if p.soon.state == nil {
		p.soon, p.soonAt = segment{p.now.number + 1, NewState(p.options)}, p.begins
	}
	for range 2 {
		if p.soonAt < p.next {
			p.soonAt = p.record(p.soon.state, p.soonAt)
		}
	}
}

// turn makes the next segment's state now's.
func (p *Past) turn() {
	want := p.number(p.next)
	at := p.next
	if p.soon.state == nil || p.soon.number != want {
		p.Run()
		p.begin(want)
	} else {
		p.Run()
		p.now.release()
		p.now, p.next, p.soon, p.begins = p.soon, p.soonAt, segment{}, -1
	}
	for p.next < at {
		p.next = p.record(p.now.state, p.next)
		if p.behind >= together {
			p.Run()
		}
	}
}

// rewind goes back, or to the window, of the state before an event.
func (p *Past) rewind(events int) {
	p.behind = 0
	last, found := p.nearest(events)
	if !found {
		p.begin(p.first(events))
		return
	}
	p.now.release()
	p.soon.release()
	p.now, p.soon, p.next, p.soonAt, p.begins = last.now, last.soon, last.next, last.soonAt, -1
	p.now.state = last.now.state.copy()
	if last.soon.state != nil {
		p.soon.state = last.soon.state.copy()
	}
}

// Grow goes on with a log that continues the one so far.
func (p *Past) Grow(log *event.Log) { p.log = log }

// take puts events in order that have come to the log, all of them at once.
func (p *Past) take() { p.takeFirst(p.log.Len()) }

// takeFirst does so for the first ones of the log.
func (p *Past) takeFirst(n int) {
	all := p.log.All().Slice(0, n)
	if p.order.n == n {
		return
	}
	p.begins = -1
	if p.order.n == 0 && p.log.Sorted() {
		p.order.n = n
		return
	}
	first := math.Inf(1)
	for i := p.order.n; i < n; i++ {
		t := all.Time[i]
		first = min(first, t)
		if t < p.asked {
			p.changes++
		}
	}
	if known := p.known(); known > 0 && first <= p.time(known-1) {
		p.forget(first)
	}
	p.order.take(all.Time, n)
}

// known is how many events, in order, the latest state that is kept knows.
func (p *Past) known() int {
	known := max(p.next, p.near.next)
	if p.soon.state != nil {
		known = max(known, p.soonAt)
	}
	if n := len(p.kept); n > 0 {
		known = max(known, p.kept[n-1].next)
	}
	if n := len(p.recent); n > 0 {
		known = max(known, p.recent[n-1].next)
	}
	return known
}

// forget goes back to before a time and keeps no snapshot from then on. Where that is far, one is taken on the way
// back, for the next event that is up to twice as late.
func (p *Past) forget(t event.Time) {
	first := p.earlier(t)
	p.dropAfter(first)
	if p.next > first || p.soon.state != nil && p.soonAt > first {
		p.rewind(first)
	}
	p.mark = 0
	if at := 2*first - p.order.n; at-p.next > p.close {
		p.mark = at
	}
}

func (p *Past) time(k int) event.Time { return p.log.All().Time[p.order.at(k)] }

// Bytes is what the states take, snapshots left out.
func (p *Past) Bytes() int {
	n := p.now.state.bytes()
	if p.soon.state != nil {
		n += p.soon.state.bytes()
	}
	return n
}
