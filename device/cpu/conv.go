package cpu

import "github.com/dygmamba/dygmamba/device"

// Conv runs the causal convolution; a chunk is a few whole sequences.
func (d *Device) Conv(c device.Conv) {
	if c.Batch == 0 || c.Len == 0 || c.Width == 0 {
		return
	}
	t := &d.fused.conv
	*t = convTask{Conv: c, dev: d, each: rowsPerChunk(c.Len * c.Width)}
	if d.fused.vector && c.Kernel == convTaps {
		t.table = d.scratch(convTable(c.Width))
		convPack(t.table, &t.Conv)
	}
	d.parallel(pieces(c.Batch, t.each), t)
}

type convTask struct {
	device.Conv
	dev   *Device
	each  int
	table []float32 // convPack's; nil: the plain form
}

func (t *convTask) run(chunk, worker int) {
	for b := chunk * t.each; b < min(t.Batch, (chunk+1)*t.each); b++ {
		if t.table != nil {
			convVector(&t.Conv, t.table, t.dev.local(worker, t.Width), b)
			continue
		}
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
	size := c.Width * c.Kernel
	t := &d.fused.convGrad
	*t = convGradTask{ConvGrad: c, dev: d, each: share(c.Batch), step: size + c.Width}
	count := pieces(c.Batch, t.each)
	if d.fused.vector && c.Kernel == convTaps {
		all := d.scratch(count*t.step + convTable(c.Width))
		t.parts, t.table = all[:count*t.step], all[count*t.step:]
		convPack(t.table, &t.Conv)
	} else {
		t.parts = d.scratch(count * t.step)
	}
	d.parallel(count, t)
	if c.DW.Len > 0 {
		addShares(c.DW.Host[:size], t.parts, t.step, count)
	}
	if c.DBias.Len > 0 {
		addShares(c.DBias.Host[:c.Width], t.parts[size:], t.step, count)
	}
}

type convGradTask struct {
	device.ConvGrad
	dev   *Device
	each  int
	parts []float32 // for every chunk: the gradients of W [D·K] and Bias [D]
	step  int
	table []float32 // convPack's; nil: the plain form
}

func (t *convGradTask) run(chunk, worker int) {
	part := t.parts[chunk*t.step : (chunk+1)*t.step]
	dw, dbias := part[:t.Width*t.Kernel], part[t.Width*t.Kernel:]
	lo, hi := chunk*t.each, min(t.Batch, (chunk+1)*t.each)
	if t.table != nil {
		convGradShare(t, dw, dbias, worker, lo, hi)
		return
	}
	clear(part)
	work := t.dev.local(worker, t.Len*t.Width)
	for b := lo; b < hi; b++ {
		convGradPlain(&t.ConvGrad, dw, dbias, work, b)
	}
}

// convGradPlain adds to dw and dbias and writes DX for sequence b. ds [L, D] is scratch for the gradients before SiLU.
func convGradPlain(c *device.ConvGrad, dw, dbias, ds []float32, b int) {
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
