package cpu

import "github.com/dygmamba/dygmamba/device"

// Conv runs the causal convolution; a chunk is a few whole sequences.
func (d *Device) Conv(c device.Conv) {
	if c.Batch == 0 || c.Len == 0 || c.Width == 0 {
		return
	}
	j, l := &d.tasks.conv, d.convLoops(c.Kernel)
	t := &j.args
	*t = convTask{ConvGrad: device.ConvGrad{Conv: c}, dev: d}
	t.table = d.scratch(l.convTable(nil, &t.Conv))
	l.convTable(t.table, &t.Conv)
	j.start(d, c.Batch, rowsPerChunk(c.Len*c.Width), l.conv, nil)
}

// convTaps is the kernel width that has a vector form.
const convTaps = 4

func (d *Device) convLoops(kernel int) *loops {
	if kernel != convTaps {
		return &plain
	}
	return &d.loops
}

type convTask struct {
	device.ConvGrad
	dev   *Device
	table []float32
	sums  // for the gradient: those of W [D·K] and Bias [D]
}

// partial are the gradients of W and Bias that the chunk from sequence lo adds up.
func (t *convTask) partial(lo int) (dw, dbias []float32) {
	part, at := t.sums.of(lo), t.Width*t.Kernel
	return part[:at], part[at:]
}

// convTablePlain is empty: W and Bias are read as they are.
func convTablePlain([]float32, *device.Conv) int { return 0 }

func convPlain(t *convTask, lo, hi, _ int) {
	for b := lo; b < hi; b++ {
		for step := range t.Len {
			y := row(t.Y, b*t.Len+step)
			convBefore(&t.Conv, y, b, step)
			for c, s := range y {
				y[c] = silu32(s)
			}
		}
	}
}

// convBefore writes the sums of one step before SiLU.
func convBefore(c *device.Conv, y []float32, b, step int) {
	copy(y, c.Bias.Host)
	for j := max(0, c.Kernel-1-step); j < c.Kernel; j++ {
		x := row(c.X, b*c.Len+step-(c.Kernel-1)+j)
		for i := range y {
			y[i] += c.W.Host[i*c.Kernel+j] * x[i]
		}
	}
}

// ConvGrad computes the sums before SiLU again; a chunk is a fixed share of the sequences with its own sums for the
// gradients of W and Bias.
func (d *Device) ConvGrad(c device.ConvGrad) {
	if c.Batch == 0 || c.Len == 0 || c.Width == 0 {
		return
	}
	j, l := &d.tasks.conv, d.convLoops(c.Kernel)
	t := &j.args
	*t = convTask{ConvGrad: c, dev: d}
	t.table, t.sums = d.shares(c.Batch, c.Width*(c.Kernel+1), l.convTable(nil, &t.Conv))
	l.convTable(t.table, &t.Conv)
	j.start(d, c.Batch, t.each, l.convGrad, nil)

	sum := t.total(d)
	addTo(c.DW, sum[:c.Width*c.Kernel])
	addTo(c.DBias, sum[c.Width*c.Kernel:])
}

func convGradPlain(t *convTask, lo, hi, worker int) {
	dw, dbias := t.partial(lo)
	ds := t.dev.local(worker, t.Len*t.Width)
	for b := lo; b < hi; b++ {
		convGradSequence(&t.ConvGrad, dw, dbias, ds, b)
	}
}

// convGradSequence adds to dw and dbias and writes DX for sequence b. ds [L, D] is scratch for the gradients before
// SiLU.
func convGradSequence(c *device.ConvGrad, dw, dbias, ds []float32, b int) {
	k, width := c.Kernel, c.Width
	for step := range c.Len {
		s, dy := ds[step*width:(step+1)*width], row(c.DY, b*c.Len+step)
		convBefore(&c.Conv, s, b, step)
		for i, v := range s {
			open := sigmoid32(v)
			s[i] = dy[i] * open * (1 + v*(1-open))
			dbias[i] += s[i]
		}
		for j := max(0, k-1-step); j < k; j++ {
			x := row(c.X, b*c.Len+step-(k-1)+j)
			for i, g := range s {
				dw[i*k+j] += g * x[i]
			}
		}
	}
	for step := range c.Len {
		dx := row(c.DX, b*c.Len+step)
		clear(dx)
		for j := k - 1; j >= 0 && step+k-1-j < c.Len; j-- {
			s := ds[(step+k-1-j)*width:]
			for i := range dx {
				dx[i] += c.W.Host[i*k+j] * s[i]
			}
		}
	}
}
