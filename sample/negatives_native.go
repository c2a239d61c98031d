package sample

import (
	"sort"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/memory"
	"github.com/dygmamba/dygmamba/internal/pairs"
	"github.com/dygmamba/dygmamba/internal/pyset"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// nativePairs draws historical and inductive negatives. Distinct pairs are numbered by first meeting, so what met up to
// some time is the numbers up to some number. A draw that hits a pair of the batch's own time, or one drawn before, is
// repeated; where more than half of the pairs would be hit, those that are left are listed and drawn from.
type nativePairs struct {
	pool
	*rng.Source
	pairs *pairs.Numbered
	known int      // pairs that had met up to the observed time
	mark  []uint32 // [pairs] round: taken in this batch
	round uint32
	now   excluded
	taken []int32 // pairs that were marked because they were drawn
	batch map[uint64]bool
	list  []uint64
}

// excluded is what was marked because it meets while a batch lasts.
type excluded struct {
	from, to int // events
	lo, hi   int // pairs
	count    int
}

func newNativePairs(p pool, source *rng.Source) *nativePairs {
	n := &nativePairs{pool: p, Source: source, pairs: p.Pool.pairs()}
	n.known = n.met(p.observed)
	n.mark = memory.Huge(make([]uint32, n.pairs.Len()))
	return n
}

// met is the number of pairs that had met at t.
func (n *nativePairs) met(t event.Time) int {
	return n.firsts(func(at event.Time) bool { return at > t })
}

// firsts is the number of pairs before the first one whose first meeting is late.
func (n *nativePairs) firsts(late func(event.Time) bool) int {
	return sort.Search(n.pairs.Len(), func(i int) bool { return late(n.time[n.pairs.First[i]]) })
}

func (n *nativePairs) Draw(pos event.Span, out []Query) {
	if repeat(pos, out); len(out) == 0 || len(n.dests) == 0 {
		return
	}
	lo, hi := n.known, max(n.known, n.met(pos.Time[0]))
	taken := n.exclude(pos, lo, hi)
	n.list = n.list[:0]
	switch left := hi - lo - taken; {
	case hi-lo >= 2*(taken+len(out)):
		n.hit(lo, hi, len(out))
	case left >= len(out):
		n.remaining(lo, hi)
		n.choose(len(out))
	default:
		n.random(pos, len(out)-left)
		n.remaining(lo, hi)
		n.choose(len(out))
	}
	for i, k := range n.list {
		out[i].Src, out[i].Dst = pyset.Split(k)
	}
}

// metBefore draws up to count pairs, fewer where there are not as many, that met strictly before a batch and do not
// meet while it lasts.
func (n *nativePairs) metBefore(pos event.Span, count int) []uint64 {
	n.list = n.list[:0]
	if count == 0 {
		return nil
	}
	hi := n.firsts(func(at event.Time) bool { return at >= pos.Time[0] })
	taken := n.exclude(pos, 0, hi)
	if hi >= 2*(taken+count) {
		n.hit(0, hi, count)
	} else {
		n.remaining(0, hi)
		n.choose(min(count, len(n.list)))
	}
	return n.list
}

// exclude marks the pairs lo to hi−1 that meet while the batch lasts and returns how many they are. Batches within one
// instant have the same: they are marked once, however many batches it has.
func (n *nativePairs) exclude(pos event.Span, lo, hi int) int {
	from, to := n.during(pos)
	if now := n.now; n.round > 0 && now.from == from && now.to == to && now.lo == lo && now.hi == hi {
		for _, p := range n.taken {
			n.mark[p] = 0
		}
		n.taken = n.taken[:0]
		return now.count
	}
	n.taken = n.taken[:0]
	if n.round++; n.round == 0 {
		clear(n.mark)
		n.round = 1
	}
	n.now = excluded{from: from, to: to, lo: lo, hi: hi}
	for _, p := range n.pairs.Of[from:to] {
		if int(p) >= lo && int(p) < hi && n.mark[p] != n.round {
			n.mark[p] = n.round
			n.now.count++
		}
	}
	return n.now.count
}

// hit lists count unmarked pairs by drawing until they are found.
func (n *nativePairs) hit(lo, hi, count int) {
	for len(n.list) < count {
		if p := lo + n.Below(hi-lo); n.mark[p] != n.round {
			n.mark[p] = n.round
			n.taken = append(n.taken, int32(p))
			n.list = append(n.list, n.pairs.Keys[p])
		}
	}
}

// remaining lists all unmarked pairs.
func (n *nativePairs) remaining(lo, hi int) {
	for p := lo; p < hi; p++ {
		if n.mark[p] != n.round {
			n.list = append(n.list, n.pairs.Keys[p])
		}
	}
}

// choose shuffles count of the list to its front and drops the others.
func (n *nativePairs) choose(count int) {
	for i := range count {
		j := i + n.Below(len(n.list)-i)
		n.list[i], n.list[j] = n.list[j], n.list[i]
	}
	n.list = n.list[:count]
}

// random lists count pairs of any source and any destination that are not positives, distinct ones if there are enough.
func (n *nativePairs) random(pos event.Span, count int) {
	n.batch = positives(n.batch, pos)
	all := len(n.sources) * len(n.dests)
	if all >= 2*(len(n.batch)+count) {
		for len(n.list) < count {
			k := pyset.Pair(n.sources[n.Below(len(n.sources))], n.dests[n.Below(len(n.dests))])
			if !n.batch[k] {
				n.batch[k] = true
				n.list = append(n.list, k)
			}
		}
		return
	}
	for _, u := range n.sources {
		for _, v := range n.dests {
			if k := pyset.Pair(u, v); !n.batch[k] {
				n.list = append(n.list, k)
			}
		}
	}
	if left := len(n.list); left >= count {
		n.choose(count)
	} else if left > 0 {
		for range count - left {
			n.list = append(n.list, n.list[n.Below(left)])
		}
	} else {
		for i := range count { // every pair is a positive
			n.list = append(n.list, pyset.Pair(pos.Src[i], pos.Dst[i]))
		}
	}
}
