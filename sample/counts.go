package sample

import "math/bits"

// count fills in how often each node of query i's two rows occurs in either of them. u is the source, v the
// destination.
func (k *worker) count(i int) {
	w, b, t := k.work, k.work.batch, &k.tally
	q, rule := b.Queries[i], w.plan.Counts
	inSrc, inDst := w.counted[Src], w.counted[Dst]
	srcRows, dstRows := &b.Rows[inSrc], &b.Rows[inDst]
	src, dst := srcRows.Node[i*srcRows.Len:][:srcRows.Len], dstRows.Node[i*dstRows.Len:][:dstRows.Len]
	t.add(src, dst)
	u, v, padding := t.find(q.Src), t.find(q.Dst), t.find(0)
	switch rule {
	case PlainCounts:
		padding.src, padding.dst = 0, 0
	case PaperCounts:
		u.src -= int32(w.draws[inSrc].draw.targets())
		v.dst -= int32(w.draws[inDst].draw.targets())
		padding.src, padding.dst = -1, -1
	}
	// The pair's own rule: each row holds its meetings with the other node, and the other row's count of that node,
	// which would be mostly the query itself, is not looked at.
	met := v.dst
	if rule != PlainCounts {
		v.dst = v.src
	}
	t.write(srcRows.counts(i), t.place[:len(src)])
	v.dst = met
	if rule != PlainCounts {
		u.src = u.dst
	}
	t.write(dstRows.counts(i), t.place[len(src):])
	if rule == PaperCounts {
		w.own(inSrc, i, v.src)
		w.own(inDst, i, u.dst)
	}
}

// own counts a row's own node as one that never occurred but met the other this many times.
func (w *work) own(d, i int, met int32) {
	r, s := &w.batch.Rows[d], &w.draws[d]
	if _, at := s.draw.layout(r.Len, int(s.used[i])); at >= 0 {
		count := r.counts(i)
		count[2*at], count[2*at+1] = 0, met
	}
}

// counts is the part of Count that belongs to row i.
func (r *Rows) counts(i int) []int32 { return r.Count[2*i*r.Len:][:2*r.Len] }

// tally counts nodes in two rows: a hash table with open addressing, small enough for the nearest cache whatever the
// node ids are.
type tally struct {
	slots []slot  // a power of two of them, at least twice as many as are ever used
	shift int     // leaves as many bits of a hash as there are bits in a place
	place []int32 // [len(src) + len(dst)] the slot of every position
	round uint32  // slots of earlier rounds are free
}

type slot struct {
	round    uint32
	node     int32
	src, dst int32
}

// add starts over and counts the nodes of both rows.
func (t *tally) add(src, dst []int32) {
	n := len(src) + len(dst)
	t.place = resize(t.place, n)
	if width := bits.Len(uint(2*n + 4)); 1<<width > len(t.slots) {
		t.slots, t.shift, t.round = make([]slot, 1<<width), 32-width, 0
	}
	if t.round++; t.round == 0 {
		clear(t.slots)
		t.round = 1
	}
	place := t.place[:len(src)]
	for j, x := range src {
		at := t.at(x)
		t.slots[at].src++
		place[j] = int32(at)
	}
	place = t.place[len(src):]
	for j, x := range dst {
		at := t.at(x)
		t.slots[at].dst++
		place[j] = int32(at)
	}
}

// write puts down both counts of every place.
func (t *tally) write(counts, places []int32) {
	for j, at := range places {
		s := &t.slots[at]
		counts[2*j], counts[2*j+1] = s.src, s.dst
	}
}

// find is the slot of node x.
func (t *tally) find(x int32) *slot { return &t.slots[t.at(x)] }

// at is the place of node x's slot, a new one if x has none.
func (t *tally) at(x int32) int {
	for at := uint32(x) * 0x9e3779b1 >> t.shift; ; at = (at + 1) & uint32(len(t.slots)-1) {
		s := &t.slots[at]
		if s.round != t.round {
			*s = slot{round: t.round, node: x}
			return int(at)
		}
		if s.node == x {
			return int(at)
		}
	}
}
