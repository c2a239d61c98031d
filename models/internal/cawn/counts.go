package cawn

import (
	"math/bits"
	"slices"

	"github.com/dygmamba/dygmamba/sample"
)

// sides of a query: the walks from its source and those from its destination.
const sides = 2

// count finds, for every step, how often its node occurs on each level of the walks from the source, and from the
// destination: as a share of all steps there, padding included. Padding itself occurs nowhere.
func (in *input) count(b *sample.Batch) {
	levels := in.cfg.Length + 1
	for side := range in.hostShares {
		n := len(in.hostNodes) * levels
		in.hostShares[side] = slices.Grow(in.hostShares[side][:0], n)[:n]
	}
	steps := 0 // of one node's walks
	for _, n := range in.tree.Levels {
		steps += n / max(1, 2*len(b.Queries))
	}
	for i := range b.Queries {
		in.counts.begin(sides*steps, levels)
		in.each(b, i, func(node int32, _, side, level int) { in.counts.add(node, side, level) })
		in.each(b, i, func(node int32, step, _, _ int) { in.share(node, step) })
	}
}

// share writes what part of all steps on each level are at a step's node.
func (in *input) share(node int32, step int) {
	levels := in.counts.levels
	src := in.hostShares[0][step*levels : (step+1)*levels]
	dst := in.hostShares[1][step*levels : (step+1)*levels]
	if node == 0 {
		clear(src)
		clear(dst)
		return
	}
	number, all := in.counts.of(node), 1.0
	for level := range src {
		src[level] = float32(float64(number[level]) / all)
		dst[level] = float32(float64(number[levels+level]) / all)
		all *= float64(in.cfg.Neighbors)
	}
}

// each calls do for all steps of query i's walks: the node, the step's number, whose walk it is and on which level.
func (in *input) each(b *sample.Batch, i int, do func(node int32, step, side, level int)) {
	first, width := 0, 1 // of the level, and how many steps of it belong to a node
	for level, n := range in.tree.Levels {
		for side := range sides {
			lo := first + (side*len(b.Queries)+i)*width
			for k, node := range in.hostNodes[lo : lo+width] {
				do(node, lo+k, side, level)
			}
		}
		first += n
		width *= in.cfg.Neighbors
	}
}

// counts counts nodes by side and level: a hash table with open addressing that forgets everything at once.
type counts struct {
	nodes  []int32  // a power of two of them, at least twice as many as are ever used
	round  []uint32 // that a place was taken in; those of earlier rounds are free
	number []int32  // [places, sides, levels]
	levels int
	now    uint32
	shift  int
}

// begin starts over for at most this many different nodes.
func (c *counts) begin(most, levels int) {
	width := bits.Len(uint(2 * most))
	if 1<<width > len(c.nodes) || levels != c.levels {
		c.nodes, c.round = make([]int32, 1<<width), make([]uint32, 1<<width)
		c.number = make([]int32, sides*levels<<width)
		c.levels, c.shift, c.now = levels, 32-width, 0
	}
	if c.now++; c.now == 0 {
		clear(c.round)
		c.now = 1
	}
}

// add counts a node; 0 is padding and none.
func (c *counts) add(node int32, side, level int) {
	if node != 0 {
		c.of(node)[side*c.levels+level]++
	}
}

// of is the counts of a node, which are zero if it has none yet.
func (c *counts) of(node int32) []int32 {
	each := sides * c.levels
	for at := int(uint32(node) * 0x9e3779b1 >> c.shift); ; at = (at + 1) & (len(c.nodes) - 1) {
		number := c.number[at*each : (at+1)*each]
		if c.round[at] != c.now {
			c.nodes[at], c.round[at] = node, c.now
			clear(number)
			return number
		}
		if c.nodes[at] == node {
			return number
		}
	}
}
