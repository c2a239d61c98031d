package sample

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/internal/mersenne"
	"github.com/dygmamba/dygmamba/internal/pairs"
	"github.com/dygmamba/dygmamba/internal/rng"
	"github.com/dygmamba/dygmamba/protocol"
)

// NegativeOptions says how to draw negatives.
type NegativeOptions struct {
	Strategy protocol.Negatives // one of protocol.Published, or protocol.KindNegatives; "" is random
	Sampling protocol.Sampling  // "" is protocol.Reference
	Seed     uint64             // below 2³² for Reference
	Observed event.Time         // inductive: what met up to here is known already
	Kinds    int                // kind: how many kinds of events there are
	Avoid    bool               // native random: draw again while the negative is one of the batch's positives
}

// Resumable generators can tell where they stand, so that work can stop in the middle and continue with the same draws.
// All Negatives and Pickers of this package are resumable.
type Resumable interface {
	State() []byte
	AppendState(b []byte) []byte // State for those who ask often
	SetState(state []byte) error
}

// NewNegatives draws from the nodes and pairs of a log. A sampler is for one goroutine at a time.
//
// Where historical and inductive pairs do not suffice, the rest are random pairs of any source and any destination that
// are not positives of the batch. A log without events offers nothing to draw: then, and where each pair of nodes is a
// positive, positives come back.
func NewNegatives(from *event.Log, o NegativeOptions) (Negatives, error) {
	return NewPool(from).Negatives(o)
}

// Pool is what negatives of a log are drawn from, found once for all that draw from it. It may be used by several
// goroutines.
type Pool struct {
	src, dst       []event.Node // [events] in order of time
	time           []event.Time
	sources, dests []event.Node // distinct, ascending
	pairs          func() *pairs.Numbered
}

// NewPool finds the nodes of a log. Its pairs are looked for when they are first needed.
func NewPool(from *event.Log) *Pool {
	all := from.All()
	p := &Pool{src: all.Src, dst: all.Dst, time: all.Time}
	if !from.Sorted() {
		p.sort()
	}
	p.sources, p.dests = distinct(all.Src), distinct(all.Dst)
	p.pairs = sync.OnceValue(func() *pairs.Numbered { return pairs.Number(p.src, p.dst) })
	return p
}

// Negatives are those of NewNegatives.
func (p *Pool) Negatives(o NegativeOptions) (Negatives, error) {
	o.Strategy = cmp.Or(o.Strategy, protocol.RandomNegatives)
	o.Sampling = cmp.Or(o.Sampling, protocol.Reference)
	if o.Strategy == protocol.KindNegatives {
		return newOtherKinds(o.Kinds, o.Seed)
	}
	if err := protocol.Check("negatives", o.Strategy, protocol.Published()); err != nil {
		return nil, err
	}
	if err := protocol.Check("sampling", o.Sampling, protocol.Samplings()); err != nil {
		return nil, err
	}
	from := pool{Pool: p, observed: math.Inf(-1)}
	if o.Strategy == protocol.InductiveNegatives {
		from.inductive, from.observed = true, o.Observed
	}
	if o.Sampling == protocol.Native {
		return newNative(from, o), nil
	}
	return newReference(from, o)
}

func newReference(p pool, o NegativeOptions) (Negatives, error) {
	pairs := uint64(len(p.sources)) * uint64(len(p.dests))
	switch {
	case o.Seed > math.MaxUint32:
		return nil, fmt.Errorf("seed %d of reference negatives, must be below 2^32", o.Seed)
	case o.Avoid:
		return nil, fmt.Errorf("avoiding positives among random negatives needs %s sampling, "+
			"the reference does not check", protocol.Native)
	case o.Strategy != protocol.RandomNegatives && pairs > math.MaxInt32:
		return nil, fmt.Errorf("%s reference negatives among %d sources × %d destinations: "+
			"the reference lists all pairs, at most 2^31−1 fit; use %s sampling",
			o.Strategy, len(p.sources), len(p.dests), protocol.Native)
	}
	seed := uint32(o.Seed)
	gen := mersenne.New(seed)
	if o.Strategy == protocol.RandomNegatives {
		return &referenceRandom{pool: p, twister: twister{gen, seed}}, nil
	}
	return newReferencePairs(p, twister{gen, seed}), nil
}

func newNative(p pool, o NegativeOptions) Negatives {
	source := rng.New(o.Seed, "negatives "+string(o.Strategy))
	if o.Strategy == protocol.RandomNegatives {
		return &nativeRandom{pool: p, Source: source, avoid: o.Avoid}
	}
	return newNativePairs(p, source)
}

// pool is what one sampler draws from.
type pool struct {
	*Pool
	inductive bool
	observed  event.Time // inductive: what met up to here does not count; otherwise −Inf
}

// sort replaces the columns with copies in order of time.
func (p *Pool) sort() {
	order := make([]int, len(p.time))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.time[a], p.time[b]) })
	src, dst, time := p.src, p.dst, p.time
	p.src, p.dst, p.time = make([]event.Node, len(src)), make([]event.Node, len(src)), make([]event.Time, len(src))
	for i, j := range order {
		p.src[i], p.dst[i], p.time[i] = src[j], dst[j], time[j]
	}
}

// upTo is the number of events at or before t.
func (p *Pool) upTo(t event.Time) int {
	return sort.Search(len(p.time), func(i int) bool { return p.time[i] > t })
}

// during is the range of events from the first to the last moment of a batch.
func (p *Pool) during(pos event.Span) (lo, hi int) {
	lo = sort.SearchFloat64s(p.time, pos.Time[0])
	return lo, max(lo, p.upTo(pos.Time[pos.Len()-1]))
}

// repeat answers with the positives.
func repeat(pos event.Span, out []Query) {
	for i := range out {
		out[i] = Query{Src: pos.Src[i], Dst: pos.Dst[i], Time: pos.Time[i]}
	}
}

func distinct(nodes []event.Node) []event.Node {
	var most event.Node
	for _, n := range nodes {
		most = max(most, n)
	}
	in := make([]bool, int(most)+1)
	count := 0
	for _, n := range nodes {
		if !in[n] {
			in[n] = true
			count++
		}
	}
	out := make([]event.Node, 0, count)
	for n, yes := range in {
		if yes {
			out = append(out, event.Node(n))
		}
	}
	return out
}
