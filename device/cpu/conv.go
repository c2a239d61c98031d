package cpu

import "github.com/dygmamba/dygmamba/device"

// Conv runs the causal convolution; a chunk is a few whole sequences.
func (d *Device) Conv(c device.Conv) {
	if c.Batch == 0 || c.Len == 0 || c.Width == 0 {
		return
	}
	t := &d.fused.conv
	*t = convTask{Conv: c, dev: d, forms: d.convForms(c.Kernel), each: rowsPerChunk(c.Len * c.Width)}
	t.table = d.scratch(t.forms.convTable(nil, &t.Conv))
	t.forms.convTable(t.table, &t.Conv)
	d.parallel(pieces(c.Batch, t.each), t)
}

// convTaps is the kernel width that has a vector form.
const convTaps = 4

func (d *Device) convForms(kernel int) forms {
	if kernel != convTaps {
		return plainForms()
	}
	return d.fused.forms
}

type convTask struct {
	device.Conv
	dev   *Device
	forms forms
	each  int
	table []float32
}

func (t *convTask) run(chunk, worker int) {
	t.forms.conv(t, chunk*t.each, min(t.Batch, (chunk+1)*t.each), worker)
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
	t := &d.fused.convGrad
	*t = convGradTask{ConvGrad: c, dev: d, forms: d.convForms(c.Kernel), each: share(c.Batch),
		size: c.Width * (c.Kernel + 1)}
	table, count := t.forms.convTable(nil, &t.Conv), pieces(c.Batch, t.each)
	all := d.scratch(table + count*t.size)
	t.table, t.parts = all[:table], all[table:]
	t.forms.convTable(t.table, &t.Conv)
	d.parallel(count, t)

	sum := d.addShares(t.parts, t.size)
	addTo(c.DW, sum[:c.Width*c.Kernel])
	addTo(c.DBias, sum[c.Width*c.Kernel:])
}

type convGradTask struct {
	device.ConvGrad
	dev   *Device
	forms forms
	each  int
	table []float32
	size  int
	parts []float32 // for every chunk: the gradients of W [D·K] and Bias [D]
}

func (t *convGradTask) run(chunk, worker int) {
	part := t.parts[chunk*t.size : (chunk+1)*t.size]
	clear(part)
	dw, dbias := part[:t.Width*t.Kernel], part[t.Width*t.Kernel:]
	t.forms.convGrad(t, dw, dbias, chunk*t.each, min(t.Batch, (chunk+1)*t.each), worker)
}

func convGradPlain(t *convGradTask, dw, dbias []float32, lo, hi, worker int) {
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
