package cpu

import "github.com/dygmamba/dygmamba/device"

// Letters as in the paper: B sequences of L steps, D channels, N states in a channel.

// Scan runs the selective recurrence; a chunk is a few whole sequences.
func (d *Device) Scan(s device.Scan) {
	if s.Batch == 0 || s.Len == 0 || s.Width == 0 {
		return
	}
	t := &d.fused.scan
	*t = scanTask{Scan: s, dev: d, each: max(share(s.Batch), scanChunk/(s.Len*s.Width*max(1, s.State)))}
	if t.vector = d.fused.vector && s.State > 0; t.vector {
		t.rates = d.scratch(scanTable(s.Width, s.State))
		scanPack(t.rates, &t.Scan)
	} else {
		t.rates = d.scratch(s.Width * s.State)
		scanRates(t.rates, s.ALog.Host)
	}
	d.parallel(pieces(s.Batch, t.each), t)
}

// scanChunk is the number of state updates in a chunk of short sequences.
const scanChunk = 1 << 16

type scanTask struct {
	device.Scan
	dev    *Device
	vector bool
	each   int
	rates  []float32 // A [D·N], or scanPack's table
}

func (t *scanTask) run(chunk, worker int) {
	for b := chunk * t.each; b < min(t.Batch, (chunk+1)*t.each); b++ {
		if t.vector {
			scanVector(&t.Scan, t.rates, t.dev.local(worker, lanes*t.State), b)
		} else {
			scanPlain(&t.Scan, t.rates, t.dev.local(worker, t.State), b)
		}
	}
}

// scanRates writes A = −exp(ALog).
func scanRates(a, alog []float32) {
	for i := range a {
		a[i] = -exp32(alog[i])
	}
}

// scanPlain is the recurrence of sequence b; a is A [D·N], h scratch [N].
func scanPlain(s *device.Scan, a, h []float32, b int) {
	n := s.State
	for c := range s.Width {
		clear(h)
		rate := a[c*n : (c+1)*n]
		for r := b * s.Len; r < (b+1)*s.Len; r++ {
			u, delta := s.U.Buf.Host[r*s.U.Stride+c], s.Delta.Buf.Host[r*s.Delta.Stride+c]
			in, out := row(s.B, r)[:n], row(s.C, r)[:n]
			var y float32
			for i := range h {
				decay, step := discretise(delta, rate[i], s.Exact)
				h[i] = decay*h[i] + step*in[i]*u
				y += out[i] * h[i]
			}
			if s.Skip.Len > 0 {
				y += s.Skip.Host[c] * u
			}
			if s.Gate.Given() {
				y *= silu32(s.Gate.Buf.Host[r*s.Gate.Stride+c])
			}
			s.Y.Buf.Host[r*s.Y.Stride+c] = y
		}
	}
}

// discretise turns the rate a over a step delta into the decay of the state and the weight of the input.
func discretise(delta, a float32, exact bool) (decay, step float32) {
	if !exact {
		return exp32(delta * a), delta
	}
	return exp32(delta * a), expm1f(delta*a) / a
}

// expm1f is eˣ−1 without cancellation near 0.
func expm1f(x float32) float32 {
	if x > -0.3 && x < 0.3 {
		p := float32(1.0 / 5040)
		p = p*x + 1.0/720
		p = p*x + 1.0/120
		p = p*x + 1.0/24
		p = p*x + 1.0/6
		p = p*x + 0.5
		return p*x*x + x
	}
	return exp32(x) - 1
}
