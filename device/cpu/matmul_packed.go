package cpu

import "github.com/dygmamba/dygmamba/device"

// The packed product. B is copied into panels of 16 or 8 columns, [k][width] each, so that the tiles read it in order;
// A is read where it lies. A chunk is a band of rows of C that fits a second-level cache together with its rows of A,
// and leaves it with the activation applied.
//
// Tiles write whole strips of rows and whole panels of columns. At the edges a strip or panel moves back and overlaps
// its neighbour: what is computed twice comes out the same. Where C is too small for that, or is added to, a band is
// computed in scratch memory and copied.

// tile multiplies strips of A by one panel, for each element starting at from:
//
//	c[r,j] = from[r,j] + Σ_p a[r,p]·panel[p,j]
//
// Distances are in bytes: from row to row, along k, and from six rows to the next six. from may have a row distance of
// 0. Every fourth step fetches a line of 64 bytes from ahead into the cache.
type tile func(strips, k int, a *float32, aRow, aStep, aStrip int, b, c *float32, cRow int,
	from *float32, fromRow int, ahead *float32)

// tiles are the inner loops of the product.
type tiles struct {
	wide, narrow  tile
	take16, take8 func(y, x *float32, xRow, k int)                    // y[p,j] = x[p,j], 16 or 8 columns j, k > 0
	turn          func(y *float32, yRow int, x *float32, xRow, k int) // y[p,i] = x[i,p], eight rows i, k ≥ 8
}

const (
	wideRows, wideCols     = 6, 16
	narrowRows, narrowCols = 12, 8
)

// panel describes panel i of n columns: the first column it holds, where it starts among the packed columns, its width.
func panel(n, i int) (col, packed, width int) {
	switch {
	case n <= narrowCols:
		return 0, 0, narrowCols
	case n < wideCols:
		return min(i*narrowCols, n-narrowCols), i * narrowCols, narrowCols
	}
	col = i * wideCols
	switch rest := n - col; {
	case rest >= wideCols:
		return col, col, wideCols
	case rest > narrowCols:
		return n - wideCols, col, wideCols
	default:
		return n - narrowCols, col, narrowCols
	}
}

// panels is the number of panels of n columns, and the columns they hold with overlaps and padding.
func panels(n int) (count, packed int) {
	count = pieces(n, wideCols)
	if n > narrowCols && n < wideCols {
		count = 2
	}
	_, at, width := panel(n, count-1)
	return count, at + width
}

// of is the tile for panels of a width, and the height of its strips.
func (t *tiles) of(width int) (multiply tile, high int) {
	if width == narrowCols {
		return t.narrow, narrowRows
	}
	return t.wide, wideRows
}

const (
	bandRows  = 96      // rows of C in a chunk of a large product
	fewTerms  = 1 << 18 // multiply-adds that one thread has done before another has woken up
	packAlone = 1 << 14 // numbers of B that one thread has packed before another has woken up
)

func (t *productTask) packed() {
	count, packed := panels(t.n)
	t.each = bandRows
	if t.m < 8*bandRows {
		t.each = max(2*narrowRows, pieces(t.m, 8*narrowRows)*narrowRows)
	}
	if t.ownB() {
		t.each = t.m
	}
	t.bands = max(1, t.m/t.each)
	pack, fresh := t.packOf(packed * t.k)
	if pack != nil {
		t.bias, t.shared = t.d.scratch(packed), pack
	} else {
		mem := t.d.scratch(packed + packed*t.k)
		t.bias, t.shared = mem[:packed], mem[packed:]
	}
	t.packBias(count)
	if !t.ownB() && (pack == nil || fresh) {
		t.step = (*productTask).packShared
		t.share(count, t.n*t.k < packAlone)
	}
	t.step = (*productTask).band
	t.share(t.g.Batch*t.bands, t.g.Batch*t.m*t.n*t.k < fewTerms)
}

// share runs a step, on this thread alone when there is little to do.
func (t *productTask) share(chunks int, little bool) {
	if !little {
		t.d.parallel(chunks, t)
		return
	}
	for c := range chunks {
		t.step(t, c, 0)
	}
}

// ownB reports whether each matrix of a batch has a B of its own.
func (t *productTask) ownB() bool { return t.g.Batch > 1 && t.g.StepB != 0 }

// packBias lays out the bias as the panels are: what the sums start at, zeros if there is none.
func (t *productTask) packBias(count int) {
	clear(t.bias)
	if t.g.Bias.Len == 0 {
		return
	}
	for i := range count {
		col, at, width := panel(t.n, i)
		copy(t.bias[at:at+width], t.g.Bias.Host[col:t.n])
	}
}

func (t *productTask) packShared(i, _ int) {
	_, at, width := panel(t.n, i)
	t.pack(t.shared[at*t.k:][:width*t.k], t.b.Buf.Host, i, 0, t.k)
}

// pack copies rows [lo, hi) of panel i of b to dst, [hi−lo][width].
func (t *productTask) pack(dst, b []float32, i, lo, hi int) {
	col, _, width := panel(t.n, i)
	cols, k, stride, tile := min(width, t.n-col), hi-lo, t.b.Stride, &t.d.loops.tile
	switch {
	case cols < width || t.g.TransB && k < 8:
		t.packFew(dst, b, i, lo, hi)
	case t.g.TransB:
		for j := 0; j < width; j += 8 {
			tile.turn(&dst[j], 4*width, &b[(col+j)*stride+lo], 4*stride, k)
		}
	case width == wideCols:
		tile.take16(&dst[0], &b[lo*stride+col], 4*stride, k)
	default:
		tile.take8(&dst[0], &b[lo*stride+col], 4*stride, k)
	}
}

// packFew is pack for panels that are not full, and for short ones.
func (t *productTask) packFew(dst, b []float32, i, lo, hi int) {
	col, _, width := panel(t.n, i)
	clear(dst)
	for p := lo; p < hi; p++ {
		for j := col; j < min(t.n, col+width); j++ {
			at := p*t.b.Stride + j
			if t.g.TransB {
				at = j*t.b.Stride + p
			}
			dst[(p-lo)*width+j-col] = b[at]
		}
	}
}

// band computes the rows of one chunk.
func (t *productTask) band(chunk, worker int) {
	i, j := chunk/t.bands, chunk%t.bands
	lo, hi := t.edge(j), t.edge(j+1)
	out := t.out()
	c := matrix(out, i, t.g.StepC)[lo*out.Stride:]
	s := strips{rows: hi - lo, a: matrix(t.a, i, t.g.StepA)[lo*t.a.Stride:], aRow: t.a.Stride, c: c, cRow: out.Stride}
	if t.a.Dense() && j+1 < t.bands {
		s.next = s.a[s.rows*s.aRow : (t.edge(j+2)-lo)*s.aRow]
	}
	if t.ownB() || t.g.Acc || t.m < narrowRows || t.n < narrowCols {
		t.detour(&s, i, worker)
	} else {
		t.multiply(&s, t.shared)
	}
	t.finish(i, lo, hi)
}

// edge is the first row of band j: a multiple of narrowRows, except the end.
func (t *productTask) edge(j int) int {
	if j >= t.bands {
		return t.m
	}
	return j * (t.m / narrowRows) / t.bands * narrowRows
}

// strips are rows of A and of C.
type strips struct {
	rows       int
	a, c       []float32
	aRow, cRow int
	next       []float32 // rows of A that come after these, to be fetched meanwhile
}

// multiply runs the tiles over at least narrowRows rows and all panels of b.
func (t *productTask) multiply(s *strips, b []float32) {
	count, _ := panels(t.n)
	next := s.next
	for i := range count {
		col, at, width := panel(t.n, i)
		tile, high := t.d.loops.tile.of(width)
		whole := s.rows / high
		from, panel := &t.bias[at], &b[at*t.k]
		var ahead *float32
		next, ahead = fetch(next, panel, whole*t.k)
		tile(whole, t.k, &s.a[0], 4*s.aRow, 4, 4*wideRows*s.aRow, panel, &s.c[col], 4*s.cRow, from, 0, ahead)
		if s.rows%high != 0 {
			r := s.rows - high
			tile(1, t.k, &s.a[r*s.aRow], 4*s.aRow, 4, 4*wideRows*s.aRow, panel, &s.c[r*s.cRow+col], 4*s.cRow,
				from, 0, panel)
		}
	}
}

// fetch cuts off the front of next what tiles of this many steps fetch; when there is nothing left they fetch idle.
func fetch(next []float32, idle *float32, steps int) (rest []float32, ahead *float32) {
	if len(next) == 0 {
		return nil, idle
	}
	return next[min(len(next), 4*steps):], &next[0]
}

// detour multiplies in memory of the worker: B packed for this matrix alone, few rows of A padded, C small or added to.
func (t *productTask) detour(s *strips, i, worker int) {
	_, packed := panels(t.n)
	rows, cols := max(s.rows, narrowRows), max(t.n, narrowCols)
	mem := t.d.local(worker, packed*t.k+narrowRows*t.k+rows*cols)
	b, a, c := t.shared, mem[packed*t.k:][:narrowRows*t.k], mem[(packed+narrowRows)*t.k:]
	if t.ownB() {
		b = mem[:packed*t.k]
		count, _ := panels(t.n)
		for p := range count {
			_, at, width := panel(t.n, p)
			t.pack(b[at*t.k:][:width*t.k], matrix(t.b, i, t.g.StepB), p, 0, t.k)
		}
	}
	in := strips{rows: rows, a: s.a, aRow: s.aRow, c: c, cRow: cols}
	if s.rows < narrowRows {
		clear(a)
		for r := range s.rows {
			copy(a[r*t.k:][:t.k], s.a[r*s.aRow:])
		}
		in.a, in.aRow = a, t.k
	}
	t.multiply(&in, b)
	t.bring(s, &in)
}

// bring copies or adds what was computed aside to where it belongs.
func (t *productTask) bring(to, from *strips) {
	rows, cols := to.rows, t.n
	if to.cRow == cols && from.cRow == cols {
		rows, cols = 1, rows*cols
	}
	for r := range rows {
		y, x := to.c[r*to.cRow:][:cols], from.c[r*from.cRow:][:cols]
		if t.g.Acc {
			t.d.loops.zips[device.Add](y, y, x)
		} else {
			copy(y, x)
		}
	}
}
