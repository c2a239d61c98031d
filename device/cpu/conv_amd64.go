package cpu

import "github.com/dygmamba/dygmamba/device"

// convTaps is the kernel width that has a vector form.
const convTaps = 4

// convSteps are the arguments of the vector forms for one sequence. Addresses are those of the first step, and are moved; steps
// between rows are in bytes.
type convSteps struct {
	x, y, dy             uintptr // y is dx in the gradient
	xStep, yStep, dyStep int
	w, dw                uintptr // taps and bias [blocks, 5, 8], and their gradients, added to
	zeros                uintptr // a row of zeros
	ds                   uintptr // [steps+3, padded], the last three rows zero
	dsStep               int
	mask                 uintptr // of the channels after the last whole vector
	whole, tail          int     // bytes of whole vectors; channels after them
	steps, left          int
}

//go:noescape
func conv8(a *convSteps)

//go:noescape
func convGrad8(a *convSteps)

// convTable is the length of convPack's table.
func convTable(width int) int { return pieces(width, lanes) * lanes * (convTaps + 1) }

// convPack lays out W and Bias as [blocks, 5, 8], zero for channels that do not exist.
func convPack(table []float32, c *device.Conv) {
	clear(table)
	for i := range c.Width {
		at := i/lanes*lanes*(convTaps+1) + i%lanes
		for j := range convTaps {
			table[at+j*lanes] = c.W.Host[i*convTaps+j]
		}
		table[at+convTaps*lanes] = c.Bias.Host[i]
	}
}

func (a *convSteps) prepare(c *device.Conv, table, zeros []float32, b int) {
	*a = convSteps{steps: c.Len, left: c.Len, w: addr(&table[0]), zeros: addr(&zeros[0])}
	a.whole, a.tail, a.mask = columns(c.Width)
	a.x, a.xStep = place(c.X, b*c.Len, 0)
}

// convVector runs sequence b; zeros is scratch [D].
func convVector(c *device.Conv, table, zeros []float32, b int) {
	clear(zeros)
	var a convSteps
	a.prepare(c, table, zeros, b)
	a.y, a.yStep = place(c.Y, b*c.Len, 0)
	conv8(&a)
}

// convGradShare is the gradient of sequences [lo, hi); it writes their sums dw [D·K] and dbias [D].
func convGradShare(t *convGradTask, dw, dbias []float32, worker, lo, hi int) {
	width := pieces(t.Width, lanes) * lanes
	ds := (t.Len + convTaps - 1) * width
	all := t.dev.local(worker, convTable(t.Width)+ds)
	sums, work := all[:convTable(t.Width)], all[convTable(t.Width):]
	clear(sums)
	clear(work[t.Len*width:])
	var a convSteps
	for b := lo; b < hi; b++ {
		a.prepare(&t.Conv, t.table, work[t.Len*width:], b)
		a.dy, a.dyStep = place(t.DY, b*t.Len, 0)
		a.y, a.yStep = place(t.DX, b*t.Len, 0)
		a.ds, a.dsStep, a.dw = addr(&work[0]), 4*width, addr(&sums[0])
		convGrad8(&a)
	}
	for i := range t.Width {
		at := i/lanes*lanes*(convTaps+1) + i%lanes
		for j := range convTaps {
			dw[i*convTaps+j] = sums[at+j*lanes]
		}
		dbias[i] = sums[at+convTaps*lanes]
	}
}
