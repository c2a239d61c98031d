package collective

import (
	"fmt"
	"math/bits"
)

// Shards is the number of parts that a batch is cut into, and who computes which: rank r of n has those from
// r·count/n to (r+1)·count/n − 1. The number of shards is a power of two, so that they are the leaves of a tree.
type Shards struct{ Count, Rank, Size int }

// NewShards checks that each rank gets a shard.
func NewShards(count, rank, size int) (Shards, error) {
	switch {
	case count < 1 || count > 1<<10 || bits.OnesCount(uint(count)) != 1:
		return Shards{}, fmt.Errorf("%d shards, must be a power of two from 1 to 1024", count)
	case size > count:
		return Shards{}, fmt.Errorf("%d ranks for %d shards of a batch: at most %d ranks, or more shards", size, count,
			count)
	}
	return Shards{count, rank, size}, nil
}

// Own are the shards lo to hi−1 of this rank.
func (s Shards) Own() (lo, hi int) { return s.of(s.Rank) }

func (s Shards) of(rank int) (lo, hi int) {
	return rank * s.Count / s.Size, (rank + 1) * s.Count / s.Size
}

// Events are the events lo to hi−1 of a batch of n that belong to a shard. Some have none when n is small.
func (s Shards) Events(shard, n int) (lo, hi int) {
	return shard * n / s.Count, (shard + 1) * n / s.Count
}

// node is the sum over the shards from, from+1, …, from+1<<level−1, a subtree.
type node struct {
	from, level int
	sum         []float32
}

// Sum adds up vectors of shards along the tree. Subtrees that are complete are kept as one vector each.
type Sum struct {
	shards Shards
	nodes  []node // from left to right; no two of them are the halves of one subtree
	next   int
	spare  [][]float32
}

// NewSum begins a sum.
func NewSum(s Shards) *Sum {
	sum := &Sum{shards: s}
	sum.Reset()
	return sum
}

// Reset forgets what was added and keeps the memory.
func (s *Sum) Reset() {
	for _, n := range s.nodes {
		s.spare = append(s.spare, n.sum)
	}
	s.nodes = s.nodes[:0]
	s.next, _ = s.shards.Own()
}

// Leaf is room for the vector of the next shard, of n numbers with any content. Fill it before the next call.
func (s *Sum) Leaf(n int) []float32 {
	s.Fold()
	x := s.Room(n)
	s.Add(x)
	return x
}

// Room is memory for a vector of n numbers with any content, for Add.
func (s *Sum) Room(n int) []float32 {
	var x []float32
	if k := len(s.spare); k > 0 {
		x, s.spare = s.spare[k-1], s.spare[:k-1]
	}
	return grow(x, n)
}

// Add takes the vector of the next shard, which must be filled before the next Fold.
func (s *Sum) Add(x []float32) {
	s.nodes = append(s.nodes, node{from: s.next, sum: x})
	s.next++
}

// Fold merges the halves of complete subtrees. AllReduce does it too.
func (s *Sum) Fold() {
	var spent []float32
	for {
		if s.nodes, spent = merge(s.nodes); spent == nil {
			return
		}
		s.spare = append(s.spare, spent)
	}
}

// merge adds the last node to the one before it if they are the halves of one subtree. It returns the memory of the
// right half; nil: they were not.
func merge(nodes []node) ([]node, []float32) {
	k := len(nodes)
	if k < 2 {
		return nodes, nil
	}
	a, b := &nodes[k-2], nodes[k-1]
	if a.level != b.level || a.from%(2<<a.level) != 0 || b.from != a.from+1<<a.level {
		return nodes, nil
	}
	for i, x := range b.sum[:len(a.sum)] {
		a.sum[i] += x
	}
	a.level++
	return nodes[:k-1], b.sum
}

// subtrees are those that the shards lo to hi−1 fall into, as Fold leaves them: from and level only.
func subtrees(lo, hi int) (list []node) {
	for i := lo; i < hi; i++ {
		list = append(list, node{from: i})
		for folded := true; folded; {
			var spent []float32
			list, spent = mergeEmpty(list)
			folded = spent != nil
		}
	}
	return list
}

// mergeEmpty is merge for nodes without numbers.
func mergeEmpty(nodes []node) ([]node, []float32) {
	before := len(nodes)
	nodes, _ = merge(nodes)
	if len(nodes) < before {
		return nodes, []float32{}
	}
	return nodes, nil
}

func grow(x []float32, n int) []float32 {
	if cap(x) < n {
		x = make([]float32, n)
	}
	return x[:n]
}
