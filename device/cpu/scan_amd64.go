package cpu

import (
	"math"

	"github.com/dygmamba/dygmamba/device"
)

// scanLanes are the arguments of the vector form for one sequence and eight channels. Matrices start at the first row,
// or in the backward half at the last; steps between rows are in bytes. Kept arrays are [steps, N, 8].
type scanLanes struct {
	u, delta, y, b, c, dy, dgate, du, ddelta                                     uintptr
	uStep, deltaStep, yStep, bStep, cStep, dyStep, dgateStep, duStep, ddeltaStep int
	uAhead, deltaAhead, yAhead, dgateAhead, duAhead, ddeltaAhead                 int // bytes to the next sequence

	rates, inverse uintptr // A/ln 2 and 1/A [N, 8]
	skip           uintptr // [8]
	mask           uintptr // [8], −1 for the channels in use
	partial        int     // 1 if not all are
	exact          int     // 1: B̄ = (exp(ΔA)−1)/A·B
	steps, n4      int     // 4·N

	states          uintptr // the scan's state [N, 8]; in the gradient [steps+1, N, 8]
	decays, weights uintptr // kept by the gradient; weights when exact
	db, dc          uintptr // [steps, N, 8]: added to
	da, dh          uintptr // [N, 8]: added to; carried
	dskip           uintptr // [8]: added to
	slope           uintptr // dy·SiLU′(gate); 0 without a gate
	slopeStep       int
}

// scanGate are the arguments of the vector forms of the gate, for the rows of a sequence.
type scanGate struct {
	gate, y           uintptr // y is dy in the gradient
	gateStep, yStep   int
	past, slope       uintptr // [rows, padded]: dy past the gate; dy·SiLU′(gate)
	paddedStep        int
	mask              uintptr // of the columns after the last whole vector
	rows, whole, tail int     // whole vectors in bytes; columns after them
}

//go:noescape
func scanGate8(a *scanGate)

//go:noescape
func scanPast8(a *scanGate)

//go:noescape
func scan8(a *scanLanes)

//go:noescape
func scanStates8(a *scanLanes)

//go:noescape
func scanBack8(a *scanLanes)

//go:noescape
func foldLanes8(dst, src *float32, n int)

// scanTableVector lays out A/ln 2 and 1/A as [blocks, N, 8] and Skip as [blocks, 8], blocks being eight channels; zero
// for channels that do not exist.
func scanTableVector(table []float32, s *device.Scan) int {
	size := padded(s.Width) * s.State
	if table == nil {
		return 2*size + padded(s.Width)
	}
	clear(table)
	rates, inverse, skip := table[:size], table[size:2*size], table[2*size:]
	for c := range s.Width {
		for i := range s.State {
			a := -exp32(s.ALog.Host[c*s.State+i])
			at := (c/lanes*s.State+i)*lanes + c%lanes
			rates[at], inverse[at] = a/math.Ln2, 1/a
		}
		if s.Skip.Len > 0 {
			skip[c] = s.Skip.Host[c]
		}
	}
	return len(table)
}

// prepare fills in what a scan and its gradient share, for sequence b and the channels from 8·block.
func (a *scanLanes) prepare(s *device.Scan, table []float32, b, block, firstRow int) {
	c := block * lanes
	size := padded(s.Width) * s.State
	used := min(lanes, s.Width-c)
	*a = scanLanes{steps: s.Len, n4: 4 * s.State, mask: laneMask(used)}
	if used < lanes {
		a.partial = 1
	}
	if s.Exact {
		a.exact = 1
	}
	a.rates = addr(&table[c*s.State])
	a.inverse = addr(&table[size+c*s.State])
	a.skip = addr(&table[2*size+c])
	r := b*s.Len + firstRow
	a.u, a.uStep, a.uAhead = placeAhead(s.U, r, c, s.Len)
	a.delta, a.deltaStep, a.deltaAhead = placeAhead(s.Delta, r, c, s.Len)
	a.b, a.bStep = place(s.B, r, 0)
	a.c, a.cStep = place(s.C, r, 0)
}

// prepare fills in what both directions share, for sequence b; y is the scan's output, or its gradient.
func (a *scanGate) prepare(s *device.Scan, y device.Mat, b int) {
	*a = scanGate{rows: s.Len}
	a.whole, a.tail, a.mask = columns(s.Width)
	a.gate, a.gateStep = place(s.Gate, b*s.Len, 0)
	a.y, a.yStep = place(y, b*s.Len, 0)
}

// placeAhead is place, with the distance to the next sequence of this many steps.
func placeAhead(m device.Mat, r, c, steps int) (at uintptr, step, ahead int) {
	at, step = place(m, r, c)
	return at, step, steps * step
}

func scanVector(t *scanTask, lo, hi, worker int) {
	h := t.dev.local(worker, lanes*t.State)
	var a scanLanes
	for b := lo; b < hi; b++ {
		for block := range pieces(t.Width, lanes) {
			a.prepare(&t.Scan, t.table, b, block, 0)
			a.y, a.yStep, a.yAhead = placeAhead(t.Y, b*t.Len, block*lanes, t.Len)
			clear(h)
			a.states = addr(&h[0])
			scan8(&a)
		}
		if t.Gate.Given() {
			var g scanGate
			g.prepare(&t.Scan, t.Y, b)
			scanGate8(&g)
		}
	}
}

func scanGradVector(t *scanTask, lo, hi, worker int) {
	n, width := t.State, padded(t.Width)
	da, dskip := t.partial(lo)
	all := t.dev.local(worker, scanGradWork(&t.ScanGrad)+width*(n+1))
	sums, work := all[:width*(n+1)], all[width*(n+1):]
	clear(sums)
	for b := lo; b < hi; b++ {
		scanGradSequence(&t.ScanGrad, t.table, sums[:width*n], sums[width*n:], work, b)
	}
	for c := range t.Width {
		for i := range n {
			da[c*n+i] = sums[(c/lanes*n+i)*lanes+c%lanes]
		}
	}
	copy(dskip, sums[width*n:])
}

// scanGradWork is the length of the scratch of scanGradSequence.
func scanGradWork(s *device.ScanGrad) int {
	n := s.State * lanes
	kept := 4
	if s.Exact {
		kept = 5
	}
	return kept*s.Len*n + 2*n + 2*s.Len*padded(s.Width)
}

// scanGradSequence is the gradient of sequence b. It adds to da [blocks, N, 8] and dskip [blocks, 8].
func scanGradSequence(s *device.ScanGrad, table, da, dskip, work []float32, b int) {
	n := s.State * lanes
	kept := s.Len * n
	db, dc := work[:kept], work[kept:2*kept]
	decays := work[2*kept : 3*kept]
	states := work[3*kept : 4*kept+n]
	rest := work[4*kept+n:]
	width := padded(s.Width)
	dh, past, slope, weights := rest[:n], rest[n:n+s.Len*width], rest[n+s.Len*width:n+2*s.Len*width],
		rest[n+2*s.Len*width:]
	clear(db)
	clear(dc)
	clear(states[:n])
	first, last := b*s.Len, s.Len-1
	dy, firstDY := s.DY, first
	if s.Gate.Given() {
		var g scanGate
		g.prepare(&s.Scan, s.DY, b)
		g.past, g.slope, g.paddedStep = addr(&past[0]), addr(&slope[0]), 4*width
		scanPast8(&g)
		dy, firstDY = device.Buffer{Host: past, Len: len(past)}.Mat(s.Len, width), 0
	}
	var a scanLanes
	for block := range pieces(s.Width, lanes) {
		c := block * lanes
		a.prepare(&s.Scan, table, b, block, 0)
		a.dy, a.dyStep = place(dy, firstDY, c)
		if s.Gate.Given() {
			a.dgate, a.dgateStep, a.dgateAhead = placeAhead(s.DGate, first, c, s.Len)
			a.slope, a.slopeStep = addr(&slope[c]), 4*width
		}
		a.states, a.decays = addr(&states[0]), addr(&decays[0])
		a.dc = addr(&dc[0])
		a.dskip = addr(&dskip[c])
		if s.Exact {
			a.weights = addr(&weights[0])
		}
		scanStates8(&a)

		a.prepare(&s.Scan, table, b, block, last)
		a.dy, a.dyStep = place(dy, firstDY+last, c)
		a.du, a.duStep, a.duAhead = placeAhead(s.DU, first+last, c, s.Len)
		a.ddelta, a.ddeltaStep, a.ddeltaAhead = placeAhead(s.DDelta, first+last, c, s.Len)
		clear(dh)
		a.dh, a.da = addr(&dh[0]), addr(&da[c*s.State])
		a.states = addr(&states[0])
		a.decays = addr(&decays[0])
		a.db = addr(&db[0])
		if s.Exact {
			a.weights = addr(&weights[0])
		}
		scanBack8(&a)
	}
	for t := range s.Len {
		foldLanes8(&row(s.DB, b*s.Len+t)[0], &db[t*n], s.State)
		foldLanes8(&row(s.DC, b*s.Len+t)[0], &dc[t*n], s.State)
	}
}
