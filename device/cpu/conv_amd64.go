package cpu

import "github.com/dygmamba/dygmamba/device"

// convSteps are the arguments of the vector forms for one sequence, from its first step on; steps between rows are in
// bytes.
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

// convTableVector lays out W and Bias as [blocks, 5, 8], blocks being eight channels; zero for channels that do not
// exist.
func convTableVector(table []float32, c *device.Conv) int {
	if table == nil {
		return padded(c.Width) * (convTaps + 1)
	}
	clear(table)
	for i := range c.Width {
		at := convPlace(i)
		for j := range convTaps {
			table[at+j*lanes] = c.W.Host[i*convTaps+j]
		}
		table[at+convTaps*lanes] = c.Bias.Host[i]
	}
	return len(table)
}

// convPlace is where the first tap of channel i lies in the table.
func convPlace(i int) int { return i/lanes*lanes*(convTaps+1) + i%lanes }

func (a *convSteps) prepare(c *device.Conv, table, zeros []float32, b int) {
	*a = convSteps{steps: c.Len, left: c.Len, w: addr(&table[0]), zeros: addr(&zeros[0])}
	a.whole, a.tail, a.mask = columns(c.Width)
	a.x, a.xStep = place(c.X, b*c.Len, 0)
}

func convVector(t *convTask, lo, hi, worker int) {
	zeros := t.dev.local(worker, t.Width)
	clear(zeros)
	var a convSteps
	for b := lo; b < hi; b++ {
		a.prepare(&t.Conv, t.table, zeros, b)
		a.y, a.yStep = place(t.Y, b*t.Len, 0)
		conv8(&a)
	}
}

func convGradVector(t *convTask, lo, hi, worker int) {
	dw, dbias := t.partial(lo)
	width := padded(t.Width)
	all := t.dev.local(worker, len(t.table)+(t.Len+convTaps-1)*width)
	sums, ds := all[:len(t.table)], all[len(t.table):]
	zeros := ds[t.Len*width:] // the gradients after the last step
	clear(sums)
	clear(zeros)
	var a convSteps
	for b := lo; b < hi; b++ {
		a.prepare(&t.Conv, t.table, zeros, b)
		a.dy, a.dyStep = place(t.DY, b*t.Len, 0)
		a.y, a.yStep = place(t.DX, b*t.Len, 0)
		a.ds, a.dsStep, a.dw = addr(&ds[0]), 4*width, addr(&sums[0])
		convGrad8(&a)
	}
	for i := range t.Width {
		at := convPlace(i)
		for j := range convTaps {
			dw[i*convTaps+j] = sums[at+j*lanes]
		}
		dbias[i] = sums[at+convTaps*lanes]
	}
}
