package cpu

import "github.com/dygmamba/dygmamba/device"

// ScanGrad computes the states again and runs the recurrence backwards; a chunk is a fixed share of the sequences, with
// its own sums for the gradients of ALog and Skip.
func (d *Device) ScanGrad(s device.ScanGrad) {
	if s.Batch == 0 || s.Len == 0 {
		return
	}
	j, l := &d.tasks.scan, d.scanLoops(s.Width*s.State)
	t := &j.args
	*t = scanTask{ScanGrad: s, dev: d}
	t.table, t.sums = d.shares(s.Batch, s.Width*(s.State+1), l.scanTable(nil, &t.Scan))
	l.scanTable(t.table, &t.Scan)
	j.start(d, s.Batch, t.each, l.scanGrad, nil)

	sum := t.total(d)
	da, dskip := sum[:s.Width*s.State], sum[s.Width*s.State:]
	for i, a := range s.ALog.Host[:len(da)] {
		da[i] *= -exp32(a) // A = −exp(ALog) is its own derivative
	}
	addTo(s.DALog, da)
	addTo(s.DSkip, dskip)
}

func scanGradPlain(t *scanTask, lo, hi, worker int) {
	n := t.State
	da, dskip := t.partial(lo)
	work := t.dev.local(worker, n*(2*t.Len+2))
	for b := lo; b < hi; b++ {
		clearRows(t.DB, b*t.Len, (b+1)*t.Len)
		clearRows(t.DC, b*t.Len, (b+1)*t.Len)
		for c := range t.Width {
			dskip[c] += scanGradChannel(&t.ScanGrad, t.table[c*n:], da[c*n:], work, b, c)
		}
	}
}

// scanGradChannel runs channel c of sequence b, with its rates a, forwards and backwards. It adds to da and to the rows
// of DB and DC, and returns the gradient of Skip[c]. work holds the states before each step and after the last [L+1,
// N], the decays [L, N] and the gradient of the state [N].
func scanGradChannel(s *device.ScanGrad, a, da, work []float32, b, c int) (dskip float32) {
	n, steps := s.State, s.Len
	states, decays, dh := work[:(steps+1)*n], work[(steps+1)*n:(2*steps+1)*n], work[(2*steps+1)*n:]
	clear(states[:n])
	clear(dh)
	for t := range steps {
		r := b*steps + t
		u, delta := s.U.Buf.Host[r*s.U.Stride+c], s.Delta.Buf.Host[r*s.Delta.Stride+c]
		in := row(s.B, r)[:n]
		for i := range n {
			decay, weight := discretise(delta, a[i], s.Exact)
			decays[t*n+i] = decay
			states[(t+1)*n+i] = decay*states[t*n+i] + weight*in[i]*u
		}
	}
	for t := steps - 1; t >= 0; t-- {
		r := b*steps + t
		u, delta := s.U.Buf.Host[r*s.U.Stride+c], s.Delta.Buf.Host[r*s.Delta.Stride+c]
		in, out, din, dout := row(s.B, r)[:n], row(s.C, r)[:n], row(s.DB, r)[:n], row(s.DC, r)[:n]
		before, after, decay := states[t*n:(t+1)*n], states[(t+1)*n:(t+2)*n], decays[t*n:(t+1)*n]
		dy := s.DY.Buf.Host[r*s.DY.Stride+c]
		var skip float32
		if s.Skip.Len > 0 {
			skip = s.Skip.Host[c]
		}
		if s.Gate.Given() {
			y := skip * u
			for i := range n {
				y += out[i] * after[i]
			}
			z := s.Gate.Buf.Host[r*s.Gate.Stride+c]
			open := sigmoid32(z)
			s.DGate.Buf.Host[r*s.DGate.Stride+c] = dy * y * open * (1 + z*(1-open))
			dy *= z * open
		}
		dskip += dy * u
		du, ddelta := dy*skip, float32(0)
		for i := range n {
			g := dh[i] + dy*out[i] // the gradient of this step's state
			dout[i] += dy * after[i]
			carried := g * decay[i]
			dh[i] = carried
			carried *= before[i]
			ddelta += carried * a[i]
			da[i] += carried * delta
			if s.Exact {
				x := delta * a[i]
				weight := expm1f(x) / a[i]
				du += g * weight * in[i]
				din[i] += g * weight * u
				g *= in[i] * u
				ddelta += g * decay[i]
				da[i] += g * delta * delta * expSlope(x)
			} else {
				du += g * in[i] * delta
				ddelta += g * in[i] * u
				din[i] += g * delta * u
			}
		}
		s.DU.Buf.Host[r*s.DU.Stride+c] = du
		s.DDelta.Buf.Host[r*s.DDelta.Stride+c] = ddelta
	}
	return dskip
}

// expSlope is (x·eˣ − eˣ + 1)/x², the derivative of (eˣ−1)/x; near 0 by its series Σ xᵏ·(k+1)/(k+2)!.
func expSlope(x float32) float32 {
	if x > -0.5 && x < 0.5 {
		p := float32(8.0 / 362880)
		p = p*x + 7.0/40320
		p = p*x + 6.0/5040
		p = p*x + 5.0/720
		p = p*x + 4.0/120
		p = p*x + 3.0/24
		p = p*x + 2.0/6
		return p*x + 1.0/2
	}
	return (x*exp32(x) - expm1f(x)) / (x * x)
}
