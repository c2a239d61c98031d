package sample

import (
	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/pyset"
)

// referencePairs draws historical and inductive negatives as the reference does. That walks hash sets of pairs, which
// it fills anew for each batch; here they grow with time and hold the same tables, because sets filled in the same
// order do.
type referencePairs struct {
	pool
	twister
	past  *pyset.Set // pairs of the first taken events
	taken int
	known *pyset.Set // pairs up to the observed time
	now   *pyset.Set // pairs while the batch lasts
	rest  *pyset.Set // inductive: past − known
	fresh *pyset.Set // past or rest − now: what is drawn from
	keys  []uint64   // the same in order
	pick  []int32
	work  []uint32
	every product
}

func newReferencePairs(p pool, gen twister) *referencePairs {
	r := &referencePairs{pool: p, twister: gen}
	for _, s := range []**pyset.Set{&r.past, &r.known, &r.now, &r.rest, &r.fresh} {
		*s = pyset.NewPairs()
	}
	r.add(r.known, 0, r.upTo(p.observed))
	r.every = product{sources: p.sources, dests: p.dests, batch: pyset.NewPairs()}
	return r
}

func (r *referencePairs) Draw(pos event.Span, out []Query) {
	if repeat(pos, out); len(out) == 0 || len(r.dests) == 0 {
		return
	}
	r.look(pos)
	r.keys = r.fresh.AppendTo(r.keys[:0])
	if missing := len(out) - len(r.keys); missing > 0 {
		r.random(pos, out[:missing])
		for i, k := range r.keys {
			out[missing+i].Src, out[missing+i].Dst = pyset.Split(k)
		}
		return
	}
	r.pick = resize(r.pick, len(out))
	r.Choose(len(r.keys), r.pick, &r.work)
	for i, j := range r.pick {
		out[i].Src, out[i].Dst = pyset.Split(r.keys[j])
	}
}

// look makes fresh what a batch may be asked about.
func (r *referencePairs) look(pos event.Span) {
	start := r.upTo(pos.Time[0])
	if start < r.taken {
		r.past.Clear()
		r.taken = 0
	}
	r.add(r.past, r.taken, start)
	r.taken = start
	r.now.Clear()
	lo, hi := r.during(pos)
	r.add(r.now, lo, hi)
	from := r.past
	if r.inductive { // also with nothing known: the difference is a copy, and a copy may have another order
		r.rest.Minus(r.past, r.known)
		from = r.rest
	}
	r.fresh.Minus(from, r.now)
}

// add inserts the pairs of events lo to hi−1.
func (r *referencePairs) add(set *pyset.Set, lo, hi int) {
	for i := lo; i < hi; i++ {
		set.Add(pyset.Pair(r.src[i], r.dst[i]))
	}
}

// random draws pairs of any source and any destination that are no positives, without replacement if there are enough.
func (r *referencePairs) random(pos event.Span, out []Query) {
	left := r.every.without(pos)
	if left.len() == 0 {
		return
	}
	r.pick = resize(r.pick, len(out))
	if left.len() >= len(out) {
		r.Choose(left.len(), r.pick, &r.work)
	} else {
		r.Integers(left.len(), r.pick)
	}
	for i, j := range r.pick {
		out[i].Src, out[i].Dst = left.at(int(j))
	}
}
