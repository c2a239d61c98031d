package sample

import (
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/mersenne"
	"github.com/dygmamba/dygmamba/internal/pyset"
	"github.com/dygmamba/dygmamba/internal/rng"
)

// twister is a Mersenne Twister that remembers its seed.
type twister struct {
	*mersenne.Twister
	seed uint32
}

// Reset starts over.
func (t twister) Reset() { t.Seed(t.seed) }

// referenceRandom draws a source and a destination for each positive and throws the sources away, as the reference
// does.
type referenceRandom struct {
	pool
	twister
}

func (r *referenceRandom) Draw(pos event.Span, out []Query) {
	if repeat(pos, out); len(r.dests) == 0 {
		return
	}
	for i := len(out); i > 0; i-- {
		r.UpTo(uint32(len(r.sources) - 1))
	}
	for i := range out {
		out[i].Dst = r.dests[r.UpTo(uint32(len(r.dests)-1))]
	}
}

// nativeRandom draws destinations.
type nativeRandom struct {
	pool
	*rng.Source
	avoid bool
	batch map[uint64]bool
}

func (r *nativeRandom) Draw(pos event.Span, out []Query) {
	if repeat(pos, out); len(r.dests) == 0 {
		return
	}
	if r.avoid {
		r.batch = positives(r.batch, pos)
	}
	for i := range out {
		out[i].Dst = r.dest(out[i].Src)
	}
}

// dest draws a destination. To avoid the positives it tries a few times before it looks through all destinations, from
// a drawn one on.
func (r *nativeRandom) dest(u event.Node) event.Node {
	const tries = 16
	for range tries {
		if v := r.dests[r.Below(len(r.dests))]; !r.avoid || !r.batch[pyset.Pair(u, v)] {
			return v
		}
	}
	first := r.Below(len(r.dests))
	for i := range r.dests {
		if v := r.dests[(first+i)%len(r.dests)]; !r.batch[pyset.Pair(u, v)] {
			return v
		}
	}
	return r.dests[first]
}

// positives is the set of a batch's pairs, made in the memory of an earlier one.
func positives(set map[uint64]bool, pos event.Span) map[uint64]bool {
	if set == nil {
		set = make(map[uint64]bool, pos.Len())
	}
	clear(set)
	for i, u := range pos.Src {
		set[pyset.Pair(u, pos.Dst[i])] = true
	}
	return set
}
