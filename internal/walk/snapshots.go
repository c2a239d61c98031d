package walk

import (
	"slices"
	"sort"
)

// snapshot is the states before an event, in order.
type snapshot struct {
	next      int // 0: there is none
	now, soon segment
	soonAt    int
	copied    int // as it was: what was copied since is what the snapshot takes at most
	bytes     int // of its states
}

// release gives back what the states hold.
func (s *snapshot) release() {
	s.now.release()
	s.soon.release()
}

// lend keeps the states until nobody can reach them any more, as others have them too.
func (s *snapshot) lend() {
	for _, x := range []*State{s.now.state, s.soon.state} {
		if x != nil && !x.lent {
			x.lent = true
		}
	}
}

// dropIf releases some snapshots of a list, and moves the others to its beginning.
func dropIf(list []snapshot, which func(i int, s snapshot) bool) (left int) {
	for i := range list {
		if which(i, list[i]) {
			list[i].release()
		} else {
			list[left] = list[i]
			left++
		}
	}
	clear(list[left:])
	return left
}

// How much is kept for questions about the past: snapshots are this many at most, together about so large, and at first
// this many events apart. Whenever there is one too many every second is forgotten. One more is taken where late events
// would otherwise make it go through more than this many events again.
const (
	mostSnapshots = 16
	mostBytes     = 256 << 20
	firstEvery    = 1 << 12
	firstClose    = 1 << 9
	// Of a live past states are kept from so far before the end on, at least so far apart, and this many, each about
	// four times as far away as the next.
	farRecent   = 1 << 18
	recentEvery = 1 << 13
	mostRecent  = 6
)

// snapshot is one of the states as they are.
func (p *Past) snapshot() snapshot {
	p.Run()
	s := snapshot{p.next, p.now, p.soon, p.soonAt, p.copied, p.Bytes()}
	s.now.state = p.now.state.clone()
	if p.soon.state != nil {
		s.soon.state = p.soon.state.clone()
	}
	return s
}

// keepNear takes the snapshot for the next late event.
func (p *Past) keepNear() {
	p.near.release()
	p.near, p.mark = p.snapshot(), 0
}

// keepRecent takes one more of the recent states of a live past: on the way to the last event at 256 Ki, 64 Ki, 16 Ki
// and 8 Ki events before it, and then after as many as are between the last two. It forgets one that is too near to its
// neighbours.
func (p *Past) keepRecent() {
	since := p.next
	if n := len(p.recent); n > 0 {
		since -= p.recent[n-1].next
	} else if p.order.n-p.next > farRecent {
		return
	}
	if since < max(recentEvery, 3*(p.order.n-p.next)) {
		return
	}
	p.recent = append(p.recent, p.snapshot())
	if len(p.recent) <= mostRecent {
		return
	}
	drop := 0 // the first goes, unless another is not four times as far away as the one after it
	for i := len(p.recent) - 2; i > 0 && drop == 0; i-- {
		if p.next-p.recent[i-1].next < 4*(p.next-p.recent[i].next) {
			drop = i
		}
	}
	p.recent[drop].release()
	p.recent = slices.Delete(p.recent, drop, drop+1)
}

// keep takes a snapshot.
func (p *Past) keep() {
	least, most := 2, mostBytes
	if p.limits.warmUp > 0 {
		least, most = 0, p.share()
	}
	size := p.now.state.bytes()
	if p.soon.state != nil {
		size += p.soon.state.bytes()
	}
	most = max(least, min(mostSnapshots, most/max(1, size)))
	if most == 0 {
		p.every *= 2
		p.kept = p.kept[:dropIf(p.kept, func(int, snapshot) bool { return true })]
		return
	}
	p.kept = append(p.kept, p.snapshot())
	for len(p.kept) > most {
		p.every *= 2
		p.kept = p.kept[:dropIf(p.kept, func(i int, _ snapshot) bool { return i%2 == 0 })]
	}
}

// nearest is the last snapshot that knows at most the first events, if that is nearer than the beginning of the window.
func (p *Past) nearest(events int) (last snapshot, found bool) {
	i := sort.Search(len(p.kept), func(i int) bool { return p.kept[i].next > events })
	if i > 0 {
		last = p.kept[i-1]
	}
	for _, s := range p.recent {
		if s.next > last.next && s.next <= events {
			last = s
		}
	}
	if p.near.next > last.next && p.near.next <= events {
		last = p.near
	}
	return last, last.next > 0 && last.next >= p.base(p.first(events))
}

// dropAfter keeps no snapshot that knows more than the first events.
func (p *Past) dropAfter(events int) {
	later := func(_ int, s snapshot) bool { return s.next > events }
	p.kept, p.recent = p.kept[:dropIf(p.kept, later)], p.recent[:dropIf(p.recent, later)]
	if p.near.next > events {
		p.near.release()
		p.near = snapshot{}
	}
}

// late is how many bytes the states for late events take at most. One of them alone has the pages that were copied
// between it and the next, but never more than it has in all.
func (p *Past) late() (bytes int) {
	next, near := p.copied, p.near
	for i := len(p.recent) - 1; i >= 0; i-- {
		s := p.recent[i]
		if near.next > s.next {
			bytes += min(next-near.copied, near.bytes)
			next, near = near.copied, snapshot{}
		}
		bytes += min(next-s.copied, s.bytes)
		next = s.copied
	}
	if near.next > 0 {
		bytes += min(next-near.copied, near.bytes)
	}
	return bytes
}

// room is how many bytes there are for states of late events.
func (p *Past) room() int {
	switch {
	case p.options.Budget == 0:
		return mostBytes
	case p.Live: // a whole state, and what a few later ones have of their own: that is beside the budget
		return int(1.25 * stateShare * float64(p.options.Budget))
	}
	return p.share()
}

// share is half of what the budget leaves for snapshots.
func (p *Past) share() int { return min(mostBytes, int(snapshotShare*float64(p.options.Budget))/2) }
