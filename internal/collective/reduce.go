package collective

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// AllReduce writes the sum over the shards of all ranks to out, on every rank: with the same bits whatever the number
// of ranks. Each rank has added the vectors of its own shards to s. Each adds up one part of the vector for all.
func (g *Group) AllReduce(ctx context.Context, s *Sum, out []float32) error {
	s.Fold()
	r, err := g.Reduce(s, out, []int{len(out), 0})
	if err != nil {
		return err
	}
	return r.Finish(ctx)
}

// Reduction is an AllReduce block by block, from the end of the vector to its beginning: while a rank still finds the
// front of its last vector, the end is on its way. Numbers are added one by one along the same tree, so blocks change
// no bit. Nothing else may use the group meanwhile.
//
// Block after block the ranks exchange what they have, each rank adds up its share of the block, and the ranks exchange
// these with the next block. So there is one exchange for each block and one more.
type Reduction struct {
	g      *Group
	sum    *Sum
	out    []float32
	bounds []int // block k is from bounds[k+1] to bounds[k]−1
	ready  int   // blocks whose numbers are final here
	begun  int   // exchanges that were started
	under  bool  // the last of them is under way
}

// Reduce begins a sum: all vectors of this rank are in s, of which the last need not be filled yet. Bounds go down from
// len(out) to 0 and are the same on all ranks.
func (g *Group) Reduce(s *Sum, out []float32, bounds []int) (*Reduction, error) {
	shards := s.shards
	if lo, hi := shards.Own(); s.next != hi {
		return nil, fmt.Errorf("all-reduce: %d vectors were added, this rank has shards %d to %d", s.next-lo, lo, hi-1)
	}
	if shards.Size != g.Size() || shards.Rank != g.Rank() {
		return nil, fmt.Errorf("all-reduce: shards of rank %d of %d on rank %d of %d", shards.Rank, shards.Size,
			g.Rank(), g.Size())
	}
	down := slices.IsSortedFunc(bounds, func(a, b int) int { return cmp.Compare(b, a) })
	if k := len(bounds) - 1; k < 1 || bounds[0] != len(out) || bounds[k] != 0 || !down {
		return nil, fmt.Errorf("all-reduce: blocks %v of %d numbers, must go down from there to 0", bounds, len(out))
	}
	if g.sums == nil {
		g.sums = make([][]float32, 2*g.Size())
	}
	return &Reduction{g: g, sum: s, out: out, bounds: bounds}, nil
}

// Ready says that the numbers of one more block are final in the last vector of this rank, and moves messages.
func (r *Reduction) Ready(ctx context.Context) error {
	r.ready++
	return r.Move(ctx)
}

// Move looks after the messages without waiting: call it now and then.
func (r *Reduction) Move(ctx context.Context) error {
	if r.g.Size() == 1 {
		return nil
	}
	if r.under {
		over, err := r.g.engine.Test()
		if err != nil || !over {
			return because(ctx, err)
		}
		r.land()
	}
	if r.begun < r.ready && r.begun < r.blocks() {
		return because(ctx, r.start())
	}
	return nil
}

// Finish waits for the sum. All blocks are final.
func (r *Reduction) Finish(ctx context.Context) error {
	r.ready = r.blocks()
	if r.g.Size() == 1 {
		r.sum.Fold()
		copy(r.out, r.sum.nodes[0].sum)
		return nil
	}
	for r.under || r.begun <= r.blocks() {
		if !r.under {
			if err := r.start(); err != nil {
				return because(ctx, err)
			}
		}
		if err := r.g.engine.Finish(ctx); err != nil {
			return because(ctx, err)
		}
		r.land()
	}
	return nil
}

func (r *Reduction) blocks() int { return len(r.bounds) - 1 }

// share is the part of block k that a rank adds up; none where there is no such block.
func (r *Reduction) share(k, rank int) (lo, hi int) {
	if k < 0 || k >= r.blocks() {
		return 0, 0
	}
	lo, n := r.bounds[k+1], r.bounds[k]-r.bounds[k+1]
	return lo + rank*n/r.g.Size(), lo + (rank+1)*n/r.g.Size()
}

// start begins the exchange of block k, and of the sums of the block before it: to each rank what it is to add up, then
// this rank's share of the sums.
func (r *Reduction) start() error {
	g, k := r.g, r.begun
	var own []node
	if k < r.blocks() {
		own = r.sum.fold(r.bounds[k+1], r.bounds[k])
	}
	a, b := r.share(k, g.Rank())
	summedLo, summedHi := r.share(k-1, g.Rank())
	g.clear()
	for i := range g.Size() {
		if i == g.Rank() {
			r.keep(own, a, b)
			continue
		}
		shardLo, shardHi := r.sum.shards.of(i)
		lo, hi := r.share(k-1, i)
		g.sums[i] = grow(g.sums[i], len(subtrees(shardLo, shardHi))*(b-a)+hi-lo)
		packed := grow(g.sums[g.Size()+i], 0)
		if from, to := r.share(k, i); to > from {
			for _, n := range own {
				packed = append(packed, n.sum[from-r.bounds[k+1]:to-r.bounds[k+1]]...)
			}
		}
		packed = append(packed, r.out[summedLo:summedHi]...)
		g.sums[g.Size()+i] = packed
		g.out[i], g.in[i] = Bytes(packed), Bytes(g.sums[i])
	}
	r.begun, r.under = k+1, true
	return g.engine.Start(g.out, g.in)
}

// keep puts this rank's own numbers beside those that the others send.
func (r *Reduction) keep(own []node, a, b int) {
	g, k := r.g, r.begun
	kept := grow(g.sums[g.Rank()], 0)
	if b > a {
		for _, n := range own {
			kept = append(kept, n.sum[a-r.bounds[k+1]:b-r.bounds[k+1]]...)
		}
	}
	g.sums[g.Rank()] = kept
}

// land takes what an exchange brought: sums of the block before, and what this rank is to add up.
func (r *Reduction) land() {
	g, k := r.g, r.begun-1
	a, b := r.share(k, g.Rank())
	for i := range g.Size() {
		if lo, hi := r.share(k-1, i); i != g.Rank() {
			copy(r.out[lo:hi], g.sums[i][len(g.sums[i])-(hi-lo):])
		}
	}
	g.addAll(r.sum.shards, r.out[a:b])
	r.under = false
}

// addAll adds up what all ranks have, in the order of the tree.
func (g *Group) addAll(s Shards, out []float32) {
	if len(out) == 0 {
		return
	}
	var nodes []node
	for rank := range g.Size() {
		lo, hi := s.of(rank)
		for i, t := range subtrees(lo, hi) {
			t.sum = g.sums[rank][i*len(out) : (i+1)*len(out)]
			nodes = append(nodes, t)
			for folded := true; folded; {
				before := len(nodes)
				nodes, _ = merge(nodes)
				folded = len(nodes) < before
			}
		}
	}
	copy(out, nodes[0].sum)
}

// fold is Fold for the numbers lo to hi−1 only: it returns the subtrees of these. Each number is folded once.
func (s *Sum) fold(lo, hi int) []node {
	var list []node
	for _, n := range s.nodes {
		n.sum = n.sum[lo:hi]
		list = append(list, n)
	}
	for {
		before := len(list)
		if list, _ = merge(list); len(list) == before {
			return list
		}
	}
}
