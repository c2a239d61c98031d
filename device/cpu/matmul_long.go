package cpu

import (
	"github.com/dygmamba/dygmamba/device"
)

// The long product, A stored transposed: the gradient of a weight, C = GᵀX, where C is small and k counts all rows of a
// batch. The terms are cut into parts whose sums are added in order at the end. A part works through blocks of terms,
// so that a block of A and B and the part's sums stay in the caches.
//
// Sums are laid out as the tiles produce them, [rows][packed columns]: strips and panels that overlap each have a place
// of their own, since they are added to once for every block.

const (
	longBlock = 128 // terms in a block
	longParts = 16  // parts of a product at most
	longLeast = 96  // terms in a part at least
)

func (t *productTask) long() {
	_, packed := panels(t.n)
	size := longRows(t.m) * packed
	t.bands, t.each = 1, t.k
	if t.g.Batch == 1 {
		t.bands = min(longParts, max(1, t.k/longLeast))
		t.each = pieces(t.k, t.bands)
		t.shared = t.d.scratch(t.bands * size)
	}
	little := t.g.Batch*t.m*t.n*t.k < fewTerms
	t.step = (*productTask).part
	t.share(t.g.Batch*t.bands, little)
	if t.g.Batch > 1 {
		return
	}
	if t.bands > 1 {
		t.step = (*productTask).addParts
		t.share(pieces(size, addRun), little)
	}
	t.step = (*productTask).storeRows
	t.share(pieces(t.m, storeRun), little)
}

// longRows is the number of rows of sums for m rows of C.
func longRows(m int) int { return pieces(m, narrowRows) * narrowRows }

// longRow is where row r of m lies among sums made by strips of the given height.
func longRow(m, r, height int) int {
	m = max(m, narrowRows)
	if whole := m / height * height; r >= whole {
		return whole + r - (m - height)
	}
	return r
}

// part sums one part of the terms; of a batch, one whole product.
func (t *productTask) part(chunk, worker int) {
	count, packed := panels(t.n)
	size := longRows(t.m) * packed
	mem := t.d.local(worker, (packed+narrowRows)*longBlock+size)
	b, thin, sums := mem[:packed*longBlock], mem[packed*longBlock:][:narrowRows*longBlock],
		mem[(packed+narrowRows)*longBlock:]
	i, lo, hi := chunk, 0, t.k
	if t.g.Batch == 1 {
		i, lo, hi = 0, chunk*t.each, min(t.k, (chunk+1)*t.each)
		sums = t.shared[chunk*size:][:size]
	}
	clear(sums)
	for ; lo < hi; lo += longBlock {
		k := min(longBlock, hi-lo)
		for p := range count {
			_, at, width := panel(t.n, p)
			t.pack(b[at*k:][:width*k], matrix(t.b, i, t.g.StepB), p, lo, lo+k)
		}
		a, stride := matrix(t.a, i, t.g.StepA)[lo*t.a.Stride:], t.a.Stride
		if t.m < narrowRows {
			a, stride = t.widen(thin, a, k), narrowRows
		}
		var nextA, nextB []float32
		if t.g.Batch == 1 {
			next := min(hi, lo+k+longBlock)
			nextA = block(t.a, lo+k, next)
			if !t.g.TransB {
				nextB = block(t.b, lo+k, next)
			}
		}
		t.addBlock(sums, packed, a, stride, b, k, nextA, nextB)
	}
	if t.g.Batch > 1 {
		t.store(i, 0, t.m, sums)
	}
}

// widen copies k rows of fewer than narrowRows numbers into rows of narrowRows.
func (t *productTask) widen(dst, a []float32, k int) []float32 {
	clear(dst)
	for p := range k {
		copy(dst[p*narrowRows:], a[p*t.a.Stride:][:t.m])
	}
	return dst
}

// addBlock adds the products of k terms to the sums.
func (t *productTask) addBlock(
	sums []float32, packed int, a []float32, stride int, b []float32, k int, nextA, nextB []float32,
) {
	m := max(t.m, narrowRows)
	count, _ := panels(t.n)
	for i := range count {
		_, at, width := panel(t.n, i)
		tile, high := t.d.loops.tile.of(width)
		whole := m / high
		s, panel := &sums[at], &b[at*k]
		var ahead *float32
		if len(nextA) > 0 {
			nextA, ahead = fetch(nextA, panel, whole*k)
		} else {
			nextB, ahead = fetch(nextB, panel, whole*k)
		}
		tile(whole, k, &a[0], 4, 4*stride, 4*wideRows, panel, s, 4*packed, s, 4*packed, ahead)
		if m%high != 0 {
			s = &sums[whole*high*packed+at]
			tile(1, k, &a[m-high], 4, 4*stride, 4*wideRows, panel, s, 4*packed, s, 4*packed, panel)
		}
	}
}

// block is the memory of terms [lo, hi) of a matrix whose rows are terms, for fetching.
func block(m device.Mat, lo, hi int) []float32 {
	if !m.Dense() || lo >= hi {
		return nil
	}
	return m.Buf.Host[lo*m.Stride : hi*m.Stride]
}

const (
	addRun   = 4096 // sums that a chunk of addParts adds up
	storeRun = 32   // rows that a chunk of storeRows writes
)

// addParts adds the parts' sums to those of the first part, in order.
func (t *productTask) addParts(chunk, _ int) {
	size := len(t.shared) / t.bands
	lo := chunk * addRun
	hi := min(size, lo+addRun)
	sum := t.shared[lo:hi]
	for p := 1; p < t.bands; p++ {
		t.d.loops.zips[device.Add](sum, sum, t.shared[p*size+lo:p*size+hi])
	}
}

func (t *productTask) storeRows(chunk, _ int) {
	t.store(0, chunk*storeRun, min(t.m, (chunk+1)*storeRun), t.shared)
}

// store writes rows [lo, hi) of product i from its sums.
func (t *productTask) store(i, lo, hi int, sums []float32) {
	count, packed := panels(t.n)
	out, add := t.out(), t.d.loops.zips[device.Add]
	for r := lo; r < hi; r++ {
		c := matrix(out, i, t.g.StepC)[r*out.Stride:][:t.n]
		for p := range count {
			col, at, width := panel(t.n, p)
			high := wideRows
			if width == narrowCols {
				high = narrowRows
			}
			from := sums[longRow(t.m, r, high)*packed+at:][:width][at-col:]
			to := c[at:min(t.n, col+width)]
			if t.g.Acc {
				add(to, to, from[:len(to)])
			} else {
				copy(to, from)
			}
		}
		if t.g.Bias.Len > 0 {
			add(c, c, t.g.Bias.Host[:t.n])
		}
	}
	t.finish(i, lo, hi)
}
